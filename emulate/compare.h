// SPDX-License-Identifier: Apache-2.0
//
// Comparisons (IEEE 754-2019 5.11) and the minimum and maximum operations (9.6), on operands of any
// two formats. Nothing is rounded here, and the only flag that can be raised is invalid. Numbers of
// different formats are compared by exponent and significand once their top bits lie at bit 127:
//
//     e4m3 1.5       110000…0 · 2^-127        binary16 1.25     101000…0 · 2^-127
//                    bit 127                                    less: equal exponents, 101… < 110…
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emulate/arithmetic.h"

namespace binade {

/// The four relations of IEEE 754-2019 5.11 between two operands.
enum class Relation : std::uint8_t { less, equal, greater, unordered };

/// Returns the order of the magnitudes of two finite, non-zero numbers. Only whole significands are
/// compared: `sticky` is ignored.
constexpr Relation compare_magnitudes(const Exact& a, const Exact& b) {
  const Exact x = with_top_at(a, 127);
  const Exact y = with_top_at(b, 127);
  if (x.exponent != y.exponent) return x.exponent < y.exponent ? Relation::less : Relation::greater;
  return x.significand < y.significand   ? Relation::less
         : x.significand > y.significand ? Relation::greater
                                         : Relation::equal;
}

/// Returns the relation of b to a, given that of a to b.
constexpr Relation reversed(Relation r) {
  return r == Relation::less ? Relation::greater : r == Relation::greater ? Relation::less : r;
}

/// Returns the relation of a to b. -0 equals +0; a NaN is unordered to everything, itself included.
constexpr Relation compare(const Exact& a, const Exact& b) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return Relation::unordered;
  if (a.kind == Kind::zero && b.kind == Kind::zero) return Relation::equal;
  if (a.kind == Kind::zero) return b.negative ? Relation::greater : Relation::less;
  if (b.kind == Kind::zero) return a.negative ? Relation::less : Relation::greater;
  if (a.negative != b.negative) return a.negative ? Relation::less : Relation::greater;
  const Relation magnitudes = a.kind == b.kind && a.kind == Kind::infinite ? Relation::equal
                              : a.kind == Kind::infinite                   ? Relation::greater
                              : b.kind == Kind::infinite                   ? Relation::less
                                                         : compare_magnitudes(a, b);
  return a.negative ? reversed(magnitudes) : magnitudes;
}

/// Returns whether two exact results are the same number or infinity, or both NaN. Results that
/// differ in `sticky` differ; the sign of a zero does not count.
constexpr bool same_result(const Exact& a, const Exact& b) {
  if (a.kind == Kind::nan && b.kind == Kind::nan) return true;
  return a.sticky == b.sticky && compare(a, b) == Relation::equal;
}

/// Returns the flags of a comparison: a quiet comparison raises invalid for signaling NaNs, a
/// signaling comparison for any NaN.
constexpr Flags comparison_flags(const Exact& a, const Exact& b, bool signaling) {
  const bool any = a.kind == Kind::nan || b.kind == Kind::nan;
  return a.signaling || b.signaling || (signaling && any) ? Flag::invalid : Flags{0};
}

/// A predicate of IEEE 754-2019 5.11: it holds if the relation of its operands is in a set.
struct Predicate {
  std::string_view name;
  bool less, equal, greater, unordered;
  bool signaling;  ///< a quiet NaN raises invalid too

  constexpr bool holds(Relation relation) const {
    return std::array{less, equal, greater, unordered}[static_cast<std::size_t>(relation)];
  }
};

/// The predicates of IEEE 754-2019, tables 5.1 to 5.3. TestFloat's eq is quiet; its le and lt are
/// signaling.
inline constexpr std::array<Predicate, 22> predicates{{
    {"compareQuietEqual", false, true, false, false, false},
    {"compareQuietNotEqual", true, false, true, true, false},
    {"compareQuietGreater", false, false, true, false, false},
    {"compareQuietGreaterEqual", false, true, true, false, false},
    {"compareQuietLess", true, false, false, false, false},
    {"compareQuietLessEqual", true, true, false, false, false},
    {"compareQuietUnordered", false, false, false, true, false},
    {"compareQuietOrdered", true, true, true, false, false},
    {"compareQuietNotGreater", true, true, false, true, false},
    {"compareQuietLessUnordered", true, false, false, true, false},
    {"compareQuietNotLess", false, true, true, true, false},
    {"compareQuietGreaterUnordered", false, false, true, true, false},
    {"compareSignalingEqual", false, true, false, false, true},
    {"compareSignalingNotEqual", true, false, true, true, true},
    {"compareSignalingGreater", false, false, true, false, true},
    {"compareSignalingGreaterEqual", false, true, true, false, true},
    {"compareSignalingLess", true, false, false, false, true},
    {"compareSignalingLessEqual", true, true, false, false, true},
    {"compareSignalingNotGreater", true, true, false, true, true},
    {"compareSignalingLessUnordered", true, false, false, true, true},
    {"compareSignalingNotLess", false, true, true, true, true},
    {"compareSignalingGreaterUnordered", false, false, true, true, true},
}};

/// An operation of IEEE 754-2019 9.6. All of them take -0 as less than +0.
struct Extremum {
  std::string_view name;
  bool maximum;
  bool number;     ///< a number is preferred to a NaN; else a NaN operand is the result
  bool magnitude;  ///< magnitudes are compared first, then signs if they are equal
};

inline constexpr std::array<Extremum, 8> extrema{{
    {"minimum", false, false, false},
    {"minimumNumber", false, true, false},
    {"maximum", true, false, false},
    {"maximumNumber", true, true, false},
    {"minimumMagnitude", false, false, true},
    {"minimumMagnitudeNumber", false, true, true},
    {"maximumMagnitude", true, false, true},
    {"maximumMagnitudeNumber", true, true, true},
}};

/// Returns the operand that the operation chooses. A signaling NaN raises invalid even if a number
/// is chosen (9.6).
constexpr Exact extremum(const Extremum& operation, const Exact& a, const Exact& b) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) {
    const bool both = a.kind == b.kind;
    if (both || !operation.number) return nan_operand(a, b);
    Exact number = a.kind == Kind::nan ? b : a;
    number.flags |= a.signaling || b.signaling ? Flag::invalid : Flags{0};
    return number;
  }
  Exact x = a;
  Exact y = b;
  if (operation.magnitude) x.negative = y.negative = false;
  Relation order = compare(x, y);
  if (order == Relation::equal && a.negative != b.negative) {  // zeros, or equal magnitudes
    order = a.negative ? Relation::less : Relation::greater;
  }
  const bool take_a = operation.maximum ? order != Relation::less : order != Relation::greater;
  return take_a ? a : b;
}

}  // namespace binade
