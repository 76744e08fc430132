// SPDX-License-Identifier: Apache-2.0
//
// The words of an explanation, the same in every writer: types, values, where a block was aligned, how it
// was rounded, which term made a NaN.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lib/explain/explanation.h"

namespace binade {

/// "f16", "f32 with 14 significant bits", "e5m7"
std::string type_text(const Format& f);
/// "0x3c00", padded to the container's width.
std::string bits_text(const Typed& x);
/// "1.5", "-0", "inf", "NaN"; numbers in at most `longest` columns, by brief_text.
std::string brief_value_text(const Typed& x, std::size_t longest = 24);
/// "toward zero", "to nearest, ties to even"
std::string rounding_text(Rounding rounding);
std::string_view operand_role_name(Role role);

/// "c", "acc" or "k 3"
std::string term_name(const ExplainedTerm& term, const ExplainedBlock& block);
/// "k 0…15", "k 0 1 4 5 … 29"
std::string places_text(std::span<const int> places);
/// The k of a block's products.
std::string places_text(const ExplainedBlock& block);

/// "2^3, of k 0", "the floor 2^-21, above 2^-25 of k 0"
std::string alignment_text(const ExplainedBlock& block);
/// "rounded toward zero to f32"
std::string rounding_text(const ExplainedBlock& block);
/// Where a NaN or an infinity comes from: "NaN: a of k 3 is NaN", "inf: k 0"; of an overflow too.
/// Nothing where the result is a number.
std::string special_text(const ExplainedBlock& block);
std::string special_text(const ExplainedOperation& x);
/// "1.5 * 2 + 0.5" with at most so many columns a number.
std::string formula_text(const ExplainedOperation& x, std::size_t longest = 16);

/// What an instruction or recipe does, in a sentence or two.
std::string model_text(const DotModel& model, const DotTypes& types);

/// An error in ulps of a format at an exact number, signed: "-0.25 ulp", "≈1234 ulp"; where it is a
/// thousandth of the number and more, that too: "-32768 ulp, -0.391 %".
std::string error_in_ulps(const ExactNumber& error, const ExactNumber& exact, const Format& f);
/// The same with the error itself: "-2^-24 = -0.25 ulp".
std::string error_text(const ExactNumber& error, const ExactNumber& exact, const Format& f);

}  // namespace binade
