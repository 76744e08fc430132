// SPDX-License-Identifier: Apache-2.0
//
// The answer of `binade validate gemm`: a kernel's product compared with the emulated one, as a
// struct, as text and as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/gemm/gemm_words.h"
#include "lib/identify/known_model.h"
#include "lib/validate/gemm.h"

namespace binade {

/// The arguments of `binade validate gemm`.
struct ValidateGemmOptions {
  GemmOptions product;
  std::string d;         ///< file of the kernel's D
  std::size_t show = 5;  ///< how many differences are shown
  bool json = false;
};

/// How many elements would be equal if operands were rounded in another way.
struct OtherReading {
  Rounding rounding = Rounding::ties_to_even;
  std::uint64_t equal = 0;
};

/// The product that was compared, and the result of the comparison.
struct GemmValidation {
  NamedGemm named;
  GemmOperands operands;
  GemmCheck check;
  /// If elements differ, and the operands in the files are no numbers of the instruction's types:
  /// the other roundings that give other operands, those of most equal elements first.
  std::vector<OtherReading> others = {};
  /// If elements are wrong: mistakes under which the model gives more of them.
  std::vector<KnownModelHint> hints = {};
};

/// Reads the matrices and compares every element of D. `progress` is called with the number of
/// multiply-adds that are done and that of all. Throws Error if an argument or a file cannot be
/// used.
GemmValidation validated(
    const ValidateGemmOptions& options,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress = {});
/// What differs, where and how far, and the counts, as text.
std::string gemm_validation_text(const GemmValidation& x, const ValidateGemmOptions& options);
/// The same as JSON of the schema binade.validate_gemm/1.
nlohmann::ordered_json gemm_validation_json(const GemmValidation& x,
                                            const ValidateGemmOptions& options);

}  // namespace binade
