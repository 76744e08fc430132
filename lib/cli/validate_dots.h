// SPDX-License-Identifier: Apache-2.0
//
// `binade validate dots`: recorded dot products against the emulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/cli/dot_options.h"
#include "lib/cli/options.h"
#include "lib/evidence/rule_choice.h"
#include "lib/validate/dots.h"

namespace binade {

struct CheckedDots {
  DotOptions dots;
  RuleChoice rules;
  std::size_t show = 5;
  bool evidence = false, json = false;
};

/// What was compared, and how it came out.
struct DotValidation {
  Instruction instruction;
  Dots dots;
  DotCheck check;
};

DotValidation validated(const CheckedDots& options);
std::string dot_validation_text(const DotValidation& x, const CheckedDots& options);
/// Schema binade.validate_dots/1.
nlohmann::ordered_json dot_validation_json(const DotValidation& x, const CheckedDots& options);

/// What a compared set says of itself and of its first differences.
nlohmann::ordered_json dot_check_json(const DotCheck& check, const Dots& dots,
                                      const Instruction& how);
/// The command that tells a row step by step.
std::string row_explained(std::vector<std::string> words, std::uint64_t row);

inline constexpr const char* evidence_help =
    "every rival rule: how many rows tell it from ours, and which of the two they follow";

void define_validate_dots(App app, int& status);

}  // namespace binade
