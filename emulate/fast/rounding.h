// SPDX-License-Identifier: Apache-2.0
//
// Magnitudes onto the grid of a format, a tile at a time, in operations that every vector unit has:
// the part that `quantize`, `encode` and `elementwise` share. Equal to the rounding in `project`
// (emulate/project.h).
//
// Two methods, by the format. Where emin is the carrier's own (bfloat16, tf32 in binary32), bits
// are cut off:
//
//     binary32   eeee eeee ffff fff|xxxx xxxx xxxx xxxx    + increment, then the bits x are cleared;
//                           kept --'`- drop = 24 - p -'    a carry goes on into the exponent
//
// Elsewhere the carrier's own addition rounds. M is 2^drop times the power of two of the number (at
// least of the smallest normal one), so its ulp is the format's and no lower bit has room;
// subnormals are no case of their own:
//
//     a                1.ffff xxxx xxxx · 2^e                drop = 8
//     S = a + M        1.0000 0001 ffff · 2^(e + drop)       r = S - M, to nearest even
//
// Other roundings then move S by its last bit, depending on a - r, as their rule_of
// (emulate/attributes.h) says. Magnitudes above the last that has an M in the carrier are replaced
// by it, which overflows in every rounding.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "emulate/quantize.h"

namespace binade::fast {

inline constexpr std::size_t tile_size = 128;  ///< elements of a tile, rounded in one loop

enum class RoundingMethod : std::uint8_t { none, cut, carrier };

/// The numbers of a Quantizer. Magnitudes are the bits of a T without sign, which are ordered as
/// the numbers are.
template <std::floating_point T>
struct RoundingPlan {
  using Bits = typename Carrier<T>::Bits;
  static constexpr const Format& carrier = Carrier<T>::format;
  static constexpr Bits magnitude_bits = ~Bits{0} >> 1;
  static constexpr Bits infinity = static_cast<Bits>(carrier.exponent_mask())
                                   << carrier.fraction_bits();

  /// none: the definition's; no other member has a meaning.
  RoundingMethod method = RoundingMethod::none;
  int drop = 0;                      ///< bits that normal results lose
  Bits last = infinity;              ///< larger magnitudes are replaced by this one
  Bits lowest_m = 0;                 ///< M of the smallest normal number
  Bits flushed_below = 0;            ///< DAZ: the smallest normal number of the operands' format
  std::array<Bits, 2> tiny_below{};  ///< FTZ, by sign: smaller operands' results are flushed
  Bits min_normal = 0;
  Bits max = 0;
  Bits sign = 0;       ///< mask of the sign that nonzero results keep
  Bits zero_sign = 0;  ///< mask of the sign that zeros keep
  int random_bits = 32;
};

namespace detail {

/// Returns the least nonzero magnitude that is not tiny. A random word must not decide that
/// (rounding_plan sees to it).
template <std::floating_point T>
constexpr typename RoundingPlan<T>::Bits first_not_tiny(const Format& f,
                                                        const Attributes& attributes,
                                                        bool negative) {
  using Bits = typename RoundingPlan<T>::Bits;
  Bits tiny = 0, not_tiny = RoundingPlan<T>::infinity;
  while (not_tiny - tiny > 1) {
    const Bits middle = tiny + (not_tiny - tiny) / 2;
    Exact x = decode(middle, RoundingPlan<T>::carrier);
    x.negative = negative && f.has_sign;
    (is_tiny(x, f, attributes, 0) ? tiny : not_tiny) = middle;
  }
  return not_tiny;
}

}  // namespace detail

/// Returns the plan of a format in T, of RoundingMethod::none where neither method fits it. DAZ
/// judges by the format `operands`.
template <std::floating_point T>
constexpr RoundingPlan<T> rounding_plan(const Format& f, const Attributes& attributes,
                                        const Format& operands = Carrier<T>::format) {
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;
  const Format& c = Plan::carrier;
  Plan out;
  if (!fits_in(f, c) || !f.has_zero || f.emin() < c.emin()) return out;
  if (attributes.flush_results && attributes.rounding == Rounding::stochastic &&
      attributes.tininess == Tininess::after_rounding) {
    return out;
  }
  const auto power = [](int e) {
    return static_cast<Bits>(e + Plan::carrier.bias) << Plan::carrier.fraction_bits();
  };
  out.drop = c.precision - f.precision;
  if (f.emin() == c.emin()) {
    if (f.precision == 1) return out;  // the last bit kept would be the hidden one
    out.method = RoundingMethod::cut;
  } else if (out.drop > 0 && f.emax() + 1 + out.drop <= c.emax() &&
             f.emin() + out.drop >= 32 + c.fraction_bits() - c.bias) {
    // The conditions make 2^32 / ulp a normal number; stochastic rounding multiplies by it.
    out.method = RoundingMethod::carrier;
    out.last = power(c.emax() - out.drop);
    out.lowest_m = power(f.emin() + out.drop);
  } else {
    return out;
  }
  if (attributes.flush_operands) out.flushed_below = first_normal<T>(operands);
  if (attributes.flush_results) {
    for (const bool negative : {false, true}) {
      out.tiny_below[negative ? 1 : 0] = detail::first_not_tiny<T>(f, attributes, negative);
    }
  }
  out.min_normal = power(f.emin());
  out.max = static_cast<Bits>(bits_of(value_of<T>(max_bits(f, false), f)));
  const Bits sign = ~Plan::magnitude_bits;
  out.sign = f.has_sign ? sign : 0;
  out.zero_sign = f.has_negative_zero() ? sign : 0;
  out.random_bits = attributes.random_bits;
  return out;
}

/// Rounds the magnitudes of n <= tile_size finite numbers x; results may lie beyond the format's
/// range. `random` has a word for each element, and may be null where the rounding is not
/// stochastic.
template <std::floating_point T>
using RoundTile = void (*)(const typename Carrier<T>::Bits* x, const std::uint32_t* random,
                           typename Carrier<T>::Bits* out, std::size_t n,
                           const RoundingPlan<T>& plan);

namespace detail {

template <std::floating_point T, Rounding rounding>
void cut_tile(const typename Carrier<T>::Bits* x, const std::uint32_t* random,
              typename Carrier<T>::Bits* out, std::size_t n, const RoundingPlan<T>& plan) {
  using Bits = typename Carrier<T>::Bits;
  constexpr int width = 8 * sizeof(Bits);
  const Bits ulp = Bits{1} << plan.drop;
  const Bits rest = ulp - 1;
  const Bits half = plan.drop == 0 ? Bits{0} : ulp >> 1;
  const Bits below_half = half == 0 ? Bits{0} : half - 1;
  const Bits flushed_below = plan.flushed_below, sign = plan.sign;
  const int drop = plan.drop, random_bits = plan.random_bits;
  constexpr RoundingRule rule = rule_of(rounding);
  for (std::size_t i = 0; i < n; ++i) {
    const Bits operand = x[i] & RoundingPlan<T>::magnitude_bits;
    const Bits a = operand < flushed_below ? Bits{0} : operand;
    const Bits negative = (x[i] & sign) != 0 ? ~Bits{0} : Bits{0};
    const Bits odd = a >> drop & 1;
    const auto increment_of = [&](Up up) __attribute__((always_inline))->Bits {
      switch (up) {
        case Up::never: return 0;
        case Up::above_half: return below_half;
        case Up::from_half: return half;
        case Up::above_zero: return rest;
        case Up::drawn: break;
      }
      // The word is aligned with the highest of the bits that are cut off; bits below the word
      // cannot make a carry.
      const std::uint32_t word = random[i] << (32 - random_bits);
      return drop == 0     ? Bits{0}
             : drop < 32   ? static_cast<Bits>(word >> (32 - drop))
             : width == 32 ? static_cast<Bits>(word)
                           : static_cast<Bits>(word) << ((drop - 32) & (width - 1));
    };
    const auto by_parity = [&](const RoundingRule::BySign& by) __attribute__((always_inline))
                               ->Bits {
      if (by.even == by.odd) return increment_of(by.even);
      return odd != 0 ? increment_of(by.odd) : increment_of(by.even);
    };
    const Bits increment =
        rule.positive == rule.negative
            ? by_parity(rule.positive)
            : (by_parity(rule.positive) & ~negative) | (by_parity(rule.negative) & negative);
    out[i] = (a + increment) & ~rest;
  }
}

template <std::floating_point T, Rounding rounding>
void carrier_tile(const typename Carrier<T>::Bits* x, const std::uint32_t* random,
                  typename Carrier<T>::Bits* out, std::size_t n, const RoundingPlan<T>& plan) {
  using Bits = typename Carrier<T>::Bits;
  constexpr int fraction = RoundingPlan<T>::carrier.fraction_bits();
  constexpr int bias = RoundingPlan<T>::carrier.bias;
  constexpr Bits exponent_field = RoundingPlan<T>::infinity;
  const Bits last = plan.last, lowest_m = plan.lowest_m, flushed_below = plan.flushed_below;
  const Bits sign = plan.sign;
  const Bits up_by = static_cast<Bits>(plan.drop) << fraction;
  const int random_bits = plan.random_bits;
  constexpr RoundingRule rule = rule_of(rounding);
  constexpr bool is_the_additions = rule == rule_of(Rounding::ties_to_even);
  for (std::size_t i = 0; i < n; ++i) {
    const Bits operand = x[i] & RoundingPlan<T>::magnitude_bits;
    const Bits kept = operand < flushed_below ? Bits{0} : operand;
    const Bits magnitude = kept < last ? kept : last;
    const Bits own = (magnitude & exponent_field) + up_by;
    const Bits m_bits = own > lowest_m ? own : lowest_m;
    const T a = std::bit_cast<T>(magnitude);
    const T m = std::bit_cast<T>(m_bits);
    const T s = a + m;
    const T r = s - m;
    if (is_the_additions) {
      out[i] = std::bit_cast<Bits>(r);
      continue;
    }
    const Bits s_bits = std::bit_cast<Bits>(s);
    const Bits up = r > a ? 1 : 0;
    const Bits down = r < a ? 1 : 0;
    const bool negative = (x[i] & sign) != 0;
    const auto moved_by = [&]<Up up_from>() __attribute__((always_inline))->Bits {
      if constexpr (up_from == Up::never) {
        return s_bits - up;
      } else if constexpr (up_from == Up::above_zero) {
        return s_bits + down;
      } else if constexpr (up_from == Up::drawn) {
        // The fraction of an ulp in 32 bits, as 31 bits and one: vectors convert to signed
        // integers.
        const Bits lower = s_bits - up;
        const T rest = a - (std::bit_cast<T>(lower) - m);
        const T per_ulp =
            std::bit_cast<T>((static_cast<Bits>(2 * bias + 31 + fraction) << fraction) - m_bits);
        const T scaled = rest * per_ulp;
        const auto high = static_cast<std::int32_t>(scaled);
        const auto low = static_cast<std::int32_t>(2 * (scaled - static_cast<T>(high)));
        const auto f = static_cast<std::uint32_t>(high) * 2 + static_cast<std::uint32_t>(low);
        return lower + (f > ~(random[i] << (32 - random_bits)) ? 1 : 0);
      } else {  // at a tie S may be moved, which has gone to even
        const T ulp = std::bit_cast<T>(m_bits + 1) - m;
        const bool goes_up = up_from == Up::from_half;
        const Bits step = 2 * (goes_up ? a - r : r - a) == ulp ? 1 : 0;
        return goes_up ? s_bits + step : s_bits - step;
      }
    };
    const auto by_parity = [&]<RoundingRule::BySign by>() __attribute__((always_inline))->Bits {
      if constexpr (by.even == by.odd) {
        return moved_by.template operator()<by.even>();
      } else if constexpr (by.even == Up::above_zero && by.odd == Up::never) {  // to odd
        return s_bits + ((s_bits & 1) != 0 ? Bits{0} : down - up);
      } else {
        const bool is_odd = ((s_bits ^ up) & 1) != 0;  // the lower neighbour
        return is_odd ? moved_by.template operator()<by.odd>()
                      : moved_by.template operator()<by.even>();
      }
    };
    Bits moved = by_parity.template operator()<rule.positive>();
    if constexpr (rule.positive != rule.negative) {
      moved = negative ? by_parity.template operator()<rule.negative>() : moved;
    }
    out[i] = std::bit_cast<Bits>(std::bit_cast<T>(moved) - m);
  }
}

template <std::floating_point T, std::size_t... i>
constexpr RoundTile<T> round_tile(RoundingMethod method, Rounding rounding,
                                  std::index_sequence<i...>) {
  constexpr std::array<std::array<RoundTile<T>, 2>, sizeof...(i)> tiles{
      {{&cut_tile<T, roundings[i].rounding>, &carrier_tile<T, roundings[i].rounding>}...}};
  return tiles[static_cast<std::size_t>(rounding)][method == RoundingMethod::cut ? 0 : 1];
}

}  // namespace detail

template <std::floating_point T>
constexpr RoundTile<T> round_tile(RoundingMethod method, Rounding rounding) {
  return detail::round_tile<T>(method, rounding, std::make_index_sequence<roundings.size()>());
}

}  // namespace binade::fast
