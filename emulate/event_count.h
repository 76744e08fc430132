// SPDX-License-Identifier: Apache-2.0
//
// Exact counts of what happened to the elements of an array in a kernel that rounds them. The
// magnitude of a result that is not exactly zero decides which counters count it:
//
//     out         0 -------- 2^quantum_exponent -- 2^emin ---------- max --- beyond
//     counters    to_zero    subnormal             (none)                    overflow, saturated
//
// `inexact` counts every element whose result differs from the exact one.
#pragma once

#include <cstdint>

#include "emulate/project.h"

namespace binade {

/// Counts over an array. Elements that have a NaN or an infinite operand or are invalid are counted
/// by the first four members only. "Out" is the rounded result; "exact" is the result before
/// rounding, from operands that were not flushed (DAZ).
struct EventCounts {
  std::uint64_t values = 0;  ///< all elements
  std::uint64_t nan_in = 0;  ///< elements with a NaN operand
  std::uint64_t inf_in = 0;  ///< elements with an infinite operand and no NaN
  /// Elements that raise invalid (attributes.h, Flag): Inf - Inf, 0 · Inf, 0 / 0, a signaling NaN,
  /// 0 · Inf + NaN, a NaN into a format without NaN.
  std::uint64_t invalid = 0;
  std::uint64_t to_zero = 0;    ///< the exact result is not zero and out is, flushed ones included
  std::uint64_t subnormal = 0;  ///< out is subnormal
  std::uint64_t overflow = 0;   ///< overflow by IEEE 754-2019 7.4, whatever out became
  std::uint64_t saturated = 0;  ///< overflows under Saturation::finite: out is the largest finite
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

/// What is known of an element before it is rounded.
struct Unrounded {
  bool nan_in = false;   ///< an operand is a NaN
  bool inf_in = false;   ///< an operand is infinite
  bool nonzero = false;  ///< the exact result is a number or an infinity, and not zero
  bool flushed = false;  ///< flushing operands (DAZ) changed the exact result
};

/// Adds one element to the counts: `before` it was rounded, and `out`, the result in format `to`.
constexpr void count_event(const Unrounded& before, const Projected& out, const Format& to,
                           const Attributes& attributes, EventCounts& counts) {
  const bool infinite = before.inf_in && !before.nan_in;
  const bool invalid = (out.flags & Flag::invalid) != 0;
  counts.values += 1;
  counts.nan_in += before.nan_in ? 1 : 0;
  counts.inf_in += infinite ? 1 : 0;
  counts.invalid += invalid ? 1 : 0;
  if (before.nan_in || before.inf_in || invalid) return;
  const bool overflowed = (out.flags & Flag::overflow) != 0;
  const bool zero_out = decode(out.bits, to).kind == Kind::zero;
  counts.to_zero += before.nonzero && zero_out ? 1 : 0;
  counts.subnormal += is_subnormal(out.bits, to) ? 1 : 0;
  counts.overflow += overflowed ? 1 : 0;
  counts.saturated += overflowed && attributes.saturation == Saturation::finite ? 1 : 0;
  counts.inexact += before.flushed || (out.flags & Flag::inexact) != 0 ? 1 : 0;
}

}  // namespace binade
