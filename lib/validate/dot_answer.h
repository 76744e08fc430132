// SPDX-License-Identifier: Apache-2.0
//
// The answer of `binade validate dots`: rows of dot products compared with the emulator, as a
// struct, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/gemm/dot_files.h"
#include "lib/instruction/rule_choice.h"
#include "lib/validate/dots.h"

namespace binade {

/// The arguments of `binade validate dots`.
struct CheckedDots {
  DotOptions dots;
  RuleChoice rules;
  std::size_t show = 5;  ///< how many differences are kept
  bool evidence = false, json = false;
};

/// The rows that were compared, and the result of the comparison.
struct DotValidation {
  Instruction instruction;
  Dots dots;
  DotCheck check;
};

/// Reads the arrays and compares every row. Throws Error if an argument or a file cannot be used.
DotValidation validated(const CheckedDots& options);
/// The first differences, the evidence for the model, and the counts, as text.
std::string dot_validation_text(const DotValidation& x, const CheckedDots& options);
/// The same as JSON of the schema binade.validate_dots/1.
nlohmann::ordered_json dot_validation_json(const DotValidation& x, const CheckedDots& options);

/// The JSON of a set of rows that was compared: instruction, evidence, counts, and the first
/// differences.
nlohmann::ordered_json dot_check_json(const DotCheck& check, const Dots& dots,
                                      const Instruction& how);
/// A line with the command `binade explain dots` that explains a row step by step; `words` are its
/// options but --row.
std::string row_explained(std::vector<std::string> words, std::uint64_t row);

}  // namespace binade
