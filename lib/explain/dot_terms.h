// SPDX-License-Identifier: Apache-2.0
//
// Reads products that are typed on the command line: "2^-11*2^-14, 8: 1.5*(3*2^-4)". Each operand
// must be a number of its format, so that what is explained is what was typed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "emulate/fused_sum.h"

namespace binade {

/// The operands of k products; +0 for products that were not typed.
struct DotTerms {
  std::vector<std::uint64_t> a, b;
};

/// Reads the operands of k products. Throws Error with the product or operand that is wrong, and
/// what to write; also if there are more than k, or two for one k.
DotTerms parse_terms(std::string_view text, const DotTypes& types, int k);

/// Returns the encoding of a literal (literal.h), which must be exactly a number of the format, or
/// a special value that the format has; bits:… is taken as it is. Throws Error if it is not, with
/// the nearest number or, for an integer format, with its range.
std::uint64_t exact_encoding(std::string_view literal, const Format& f);

/// The help text that says how products are typed.
extern const char* const terms_help;

}  // namespace binade
