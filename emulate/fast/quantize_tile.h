// SPDX-License-Identifier: Apache-2.0
//
// A tile of numbers onto the grid of a format with the counts of what happened: rounding.h, then what lies beyond the
// range becomes what the format has, signs come back and the events are counted, again in operations of vector units.
// Equal to `quantize` of emulate/quantize.h, which does NaNs and infinities.
//
//     is_over  1111…1111 where the magnitude > max     out = result of overflow & is_over | (magnitude | sign) & ~is_over
//              minus one, summed: minus the count      likewise zeros, subnormals, exact ones
#pragma once

#include <array>
#include <type_traits>

#include "emulate/fast/rounding.h"
#include "emulate/fast/stochastic.h"

namespace binade::fast {

/// Whether a NaN or an infinity is among n numbers.
template <std::unsigned_integral Bits>
bool any_special(const Bits* x, std::size_t n) {
  using Plan = RoundingPlan<std::conditional_t<sizeof(Bits) == 4, float, double>>;
  constexpr Bits to_the_sign = ~Plan::magnitude_bits - Plan::infinity;  // a carry from there on
  Bits seen = 0;
  for (std::size_t i = 0; i < n; ++i) seen |= (x[i] & Plan::magnitude_bits) + to_the_sign;
  return seen > Plan::magnitude_bits;
}

/// The NaNs and infinities of a tile, which become zeros there: who quantized it does these again, one by one.
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
  /// redo(place, value) for each, which counts it; as a zero it is counted no more.
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

template <std::floating_point T>
struct TileQuantizer {
  using Bits = typename Carrier<T>::Bits;

  Quantizer to;
  RoundingPlan<T> plan;
  RoundTile<T> round = nullptr;
  std::array<Bits, 2> overflow{};  ///< results, by sign

  constexpr explicit TileQuantizer(const Quantizer& quantizer)
      : to(quantizer),
        plan(rounding_plan<T>(quantizer.format, quantizer.attributes,
                              operand_format<T>(quantizer))) {
    if (plan.family == Family::none) return;
    round = round_tile<T>(plan.family, to.attributes.rounding);
    for (const bool negative : {false, true}) {
      const Exact huge{Kind::finite, negative, false, false, 1 << 14, 1};
      const std::uint64_t bits = project(huge, to.format, to.attributes).bits;
      overflow[negative ? 1 : 0] = static_cast<Bits>(bits_of(value_of<T>(bits, to.format)));
    }
  }
  /// Tiles flush no results.
  constexpr bool known() const {
    return plan.family != Family::none && plan.tiny_below == std::array<Bits, 2>{};
  }

  /// The elements first … first + n - 1 of a stream, n <= tile_size, all finite; in and out as bits.
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
    Bits zeros_in = 0, zeros = 0, below_normal = 0, overflows = 0, exact = 0;  // minus the counts
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
