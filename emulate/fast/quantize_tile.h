// SPDX-License-Identifier: Apache-2.0
//
// A tile of up to 128 numbers onto the grid of a format, with the counts of what happened. Equal to
// `quantize` of emulate/quantize.h, to which NaNs and infinities are left. emulate/fast/rounding.h
// rounds the magnitudes; then magnitudes beyond the range become the result of an overflow, signs
// come back and events are counted, all by masks, in operations that every vector unit has. A mask
// is all ones, which is -1, so that a sum of masks is minus the count:
//
//     x             -70000      1.5       0         2^-26         four numbers to binary16
//     magnitude     65536       1.5       0         0             as emulate/fast/rounding.h leaves them
//     is_over       11…11       00…00     00…00     00…00         > 65504; sum -1: 1 overflow
//     is_zero       00…00       00…00     11…11     11…11         sum -2, that of the operands -1: 1 became zero
//     out           -inf        1.5       0         0             overflow & is_over | (magnitude | sign) & ~is_over
#pragma once

#include <array>
#include <type_traits>

#include "emulate/fast/rounding.h"
#include "emulate/fast/stochastic.h"

namespace binade::fast {

/// Returns whether one of n floats or doubles, given as bits, is a NaN or an infinity.
template <std::unsigned_integral Bits>
bool any_special(const Bits* x, std::size_t n) {
  using Plan = RoundingPlan<std::conditional_t<sizeof(Bits) == 4, float, double>>;
  // Added to a magnitude from infinity on, it carries into the sign bit; for float it is
  // 0x00800000.
  constexpr Bits to_the_sign = ~Plan::magnitude_bits - Plan::infinity;
  Bits seen = 0;
  for (std::size_t i = 0; i < n; ++i) seen |= (x[i] & Plan::magnitude_bits) + to_the_sign;
  return seen > Plan::magnitude_bits;
}

/// Sets aside the NaNs and infinities of a tile and puts zeros in their places. After the tile is
/// quantized, the caller does these elements again, one by one.
template <std::floating_point T>
class SpecialValues {
 public:
  using Bits = typename Carrier<T>::Bits;

  SpecialValues(Bits* x, std::size_t n) {
    if (!any_special(x, n)) return;
    for (std::size_t i = 0; i < n; ++i) {
      if ((x[i] & RoundingPlan<T>::magnitude_bits) < RoundingPlan<T>::infinity) continue;
      places_[count_] = static_cast<std::uint8_t>(i);
      values_[count_++] = std::bit_cast<T>(x[i]);
      x[i] = 0;
    }
  }
  /// Calls redo(place in the tile, value) for each, which counts it; its count as a zero is taken
  /// back first.
  template <class Redo>
  void each(EventCounts& counts, const Redo& redo) const {
    counts.values -= count_;
    for (std::size_t i = 0; i < count_; ++i) redo(std::size_t{places_[i]}, values_[i]);
  }

 private:
  std::size_t count_ = 0;
  std::array<std::uint8_t, tile_size> places_;
  std::array<T, tile_size> values_;
};

/// A Quantizer made ready for tiles of T, float or double.
template <std::floating_point T>
struct TileQuantizer {
  using Bits = typename Carrier<T>::Bits;

  Quantizer to;
  RoundingPlan<T> plan;
  RoundTile<T> round = nullptr;
  std::array<Bits, 2> overflow{};  ///< results of overflow: positive, negative

  constexpr explicit TileQuantizer(const Quantizer& quantizer)
      : to(quantizer),
        plan(rounding_plan<T>(quantizer.format, quantizer.attributes,
                              operand_format<T>(quantizer))) {
    if (plan.method == RoundingMethod::none) return;
    round = round_tile<T>(plan.method, to.attributes.rounding);
    if (to.attributes.saturation == Saturation::finite && plan.sign != 0) {
      overflow = {plan.max, plan.max | plan.sign};
      return;
    }
    for (const bool negative : {false, true}) {
      const Exact huge{Kind::finite, negative, false, false, 1 << 14, 1};
      const std::uint64_t bits = project(huge, to.format, to.attributes).bits;
      overflow[negative ? 1 : 0] = static_cast<Bits>(bits_of(value_of<T>(bits, to.format)));
    }
  }
  /// Returns whether tiles can do this quantizer. They cannot do one that flushes results (FTZ).
  constexpr bool known() const {
    return plan.method != RoundingMethod::none && plan.tiny_below == std::array<Bits, 2>{};
  }

  /// Quantizes the elements first … first + n - 1 of a stream, n <= tile_size, all finite, given
  /// and returned as bits.
  void operator()(const Bits* x, Bits* out, std::size_t n, std::uint64_t first,
                  EventCounts& counts) const {
    if (to.attributes.rounding == Rounding::stochastic) {
      std::array<std::uint32_t, tile_size> random;
      random_words(to.seed, to.stream, first, n, random.data());
      round(x, random.data(), out, n, plan);
    } else {
      round(x, nullptr, out, n, plan);
    }
    finish(x, out, n, counts);
  }

 private:
  void finish(const Bits* x, Bits* out, std::size_t n, EventCounts& counts) const {
    constexpr Bits magnitude_bits = RoundingPlan<T>::magnitude_bits;
    const auto mask = [](bool is_so) { return Bits{0} - static_cast<Bits>(is_so); };
    const Bits max = plan.max, min_normal = plan.min_normal;
    const Bits sign = plan.sign, lost_by_zeros = plan.sign ^ plan.zero_sign;
    const Bits beyond = overflow[0], beyond_differs = overflow[0] ^ overflow[1];
    Bits zeros_in = 0, zeros = 0, below_normal = 0, overflows = 0, exact = 0;  // sums of masks
    for (std::size_t i = 0; i < n; ++i) {
      const Bits operand = x[i] & magnitude_bits;
      const Bits magnitude = out[i];
      const Bits is_over = mask(magnitude > max);
      const Bits is_zero = mask(magnitude == 0);
      zeros_in += mask(operand == 0);
      zeros += is_zero;
      below_normal += mask(magnitude < min_normal);
      overflows += is_over;
      exact += mask(magnitude == operand) & ~is_over;
      const Bits kept = magnitude | (x[i] & (sign ^ (lost_by_zeros & is_zero)));
      const Bits result = beyond ^ (beyond_differs & mask(x[i] > magnitude_bits));
      out[i] = (result & is_over) | (kept & ~is_over);
    }
    zeros_in = Bits{0} - zeros_in;
    zeros = Bits{0} - zeros;
    below_normal = Bits{0} - below_normal;
    overflows = Bits{0} - overflows;
    exact = Bits{0} - exact;
    counts.values += n;
    counts.to_zero += zeros - zeros_in;
    counts.subnormal += below_normal - zeros;
    counts.overflow += overflows;
    counts.saturated += to.attributes.saturation == Saturation::finite ? overflows : 0;
    counts.inexact += n - exact;
  }
};

}  // namespace binade::fast
