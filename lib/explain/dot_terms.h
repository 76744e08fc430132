// SPDX-License-Identifier: Apache-2.0
//
// Products typed on the command line: "2^-11*2^-14, 8: 1.5*(3*2^-4)". Each operand must be a number of its
// format, so that what is explained is what was typed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "emulate/fused_sum.h"

namespace binade {

/// Operands of k products; +0 where none was typed.
struct DotTerms {
  std::vector<std::uint64_t> a, b;
};

/// Error with the product or operand that is wrong, and what to write.
DotTerms parse_terms(std::string_view text, const DotTypes& types, int k);

/// The encoding of a literal of literal.h that is exactly a number of the format, or a special that it
/// has. Error with the nearest number.
std::uint64_t exact_encoding(std::string_view literal, const Format& f);

extern const char* const terms_help;

}  // namespace binade
