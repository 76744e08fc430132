// SPDX-License-Identifier: Apache-2.0
//
// What happened to the elements of an array on the way through a bulk kernel, counted exactly.
#pragma once

#include <cstdint>

#include "emulate/project.h"

namespace binade {

/// Counts over an array. Elements with a NaN or infinite operand are counted by the first four and
/// by nothing else; "exact" is the result that unflushed operands have before rounding.
struct EventCounts {
  std::uint64_t values = 0;     ///< all elements
  std::uint64_t nan_in = 0;     ///< with a NaN operand
  std::uint64_t inf_in = 0;     ///< with an infinite operand, and no NaN
  std::uint64_t invalid = 0;    ///< without a NaN operand: Inf - Inf, 0 · Inf, 0 / 0
  std::uint64_t to_zero = 0;    ///< non-zero exact, zero out; flushing included
  std::uint64_t subnormal = 0;  ///< non-zero subnormal out
  std::uint64_t overflow = 0;   ///< IEEE 754 overflow, whatever was delivered
  std::uint64_t saturated = 0;  ///< of these: delivered as largest finite under Saturation::finite
  std::uint64_t inexact = 0;    ///< out differs from exact

  friend constexpr bool operator==(const EventCounts&, const EventCounts&) = default;

  constexpr EventCounts& operator+=(const EventCounts& other) {
    values += other.values;
    nan_in += other.nan_in;
    inf_in += other.inf_in;
    invalid += other.invalid;
    to_zero += other.to_zero;
    subnormal += other.subnormal;
    overflow += other.overflow;
    saturated += other.saturated;
    inexact += other.inexact;
    return *this;
  }
};

/// An element before rounding.
struct Unrounded {
  bool nan_in = false;
  bool inf_in = false;
  bool nonzero = false;  ///< the exact result is not zero
  bool flushed = false;  ///< flushing operands changed it
};

constexpr void count_event(const Unrounded& before, const Projected& out, const Format& to,
                           const Attributes& attributes, EventCounts& counts) {
  const bool infinite = before.inf_in && !before.nan_in;
  counts.values += 1;
  counts.nan_in += before.nan_in ? 1 : 0;
  counts.inf_in += infinite ? 1 : 0;
  counts.invalid += !before.nan_in && (out.flags & Flag::invalid) != 0 ? 1 : 0;
  if (before.nan_in || before.inf_in) return;
  const bool overflowed = (out.flags & Flag::overflow) != 0;
  const bool zero_out = decode(out.bits, to).kind == Kind::zero;
  counts.to_zero += before.nonzero && zero_out ? 1 : 0;
  counts.subnormal += is_subnormal(out.bits, to) ? 1 : 0;
  counts.overflow += overflowed ? 1 : 0;
  counts.saturated += overflowed && attributes.saturation == Saturation::finite ? 1 : 0;
  counts.inexact += before.flushed || (out.flags & Flag::inexact) != 0 ? 1 : 0;
}

}  // namespace binade
