// SPDX-License-Identifier: Apache-2.0
//
// The words of an explanation, which are the same in every output: types, values, where a block was
// aligned, how it was rounded, which term made a NaN.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lib/explain/explanation.h"

namespace binade {

/// Returns a format's name: "f16", "f32 with 14 significant bits", "e5m7".
std::string type_text(const Format& f);
/// Returns an encoding: "0x3c00", padded to the container's width.
std::string bits_text(const Typed& x);
/// Returns a value: "1.5", "-0", "inf", "NaN". A number has at most `longest` columns (brief_text
/// in lib/number).
std::string brief_value_text(const Typed& x, std::size_t longest = 24);
/// Returns "toward zero", "to nearest, ties to even," and so on.
std::string rounding_text(Rounding rounding);
std::string_view operand_role_name(Role role);

/// Returns a term's name: "c", "acc" (the sum so far) or "k 3".
std::string term_name(const ExplainedTerm& term, const ExplainedBlock& block);
/// Returns positions in k: "k 0…15", "k 0 1 4 5 … 29".
std::string places_text(std::span<const int> places);
/// Returns the k of a block's products.
std::string places_text(const ExplainedBlock& block);

/// Returns what a block is aligned to: "2^3, of k 0", "the floor 2^-21, above 2^-25 of k 0".
std::string alignment_text(const ExplainedBlock& block);
/// Returns how a block is rounded: "rounded toward zero to f32".
std::string rounding_text(const ExplainedBlock& block);
/// Returns where a NaN or an infinity comes from, also one from overflow: "NaN: a of k 3 is NaN",
/// "inf: k 0 is +inf". Returns "" if the result is a number.
std::string special_text(const ExplainedBlock& block);
std::string special_text(const ExplainedOperation& x);
/// Returns an operation as a formula: "1.5 * 2 + 0.5". Each number has at most `longest` columns.
std::string formula_text(const ExplainedOperation& x, std::size_t longest = 16);

/// Returns what an instruction or recipe does, in a sentence or two.
std::string model_text(const DotModel& model, const DotTypes& types);

/// Returns a signed error in ulps of a format at an exact number: "-0.25 ulp", "≈1234 ulp". If it
/// is a thousandth of the number or more, its part of the number is added: "-32768 ulp, -0.391 %".
std::string error_in_ulps(const ExactNumber& error, const ExactNumber& exact, const Format& f);
/// Returns the error itself and in ulps: "-2^-24 = -0.25 ulp".
std::string error_text(const ExactNumber& error, const ExactNumber& exact, const Format& f);

}  // namespace binade
