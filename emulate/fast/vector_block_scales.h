// SPDX-License-Identifier: Apache-2.0
//
// `block_scales` of emulate/block_arrays.h, the same codes, factors and counts. Each step of a rule
// is a loop over the blocks of a tile, of which a compiler makes vectors; which step it is, is
// asked once for a tile:
//
//     amaxes       7.5    0.3    96     of a tile's blocks, mxfp4 by torchao_rceil
//     quotients    1.25   0.05   16     amax · (1/6)
//     codes        128    123    131    its exponent, up
//     factors      2^-1   2^4    2^-4
//
// The loops are templates of a tag V, so that each level has its own, compiled for its
// instructions. Blocks where something is no number are left to the definition.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/blocks.h"
#include "emulate/fast/kernels.h"

namespace binade::fast {

/// The steps of a rule over a tile's blocks.
template <class V>
struct BlockScaleTile {
  static constexpr std::size_t size = 512;
  using Floats = std::array<float, size>;
  using Words = std::array<std::uint32_t, size>;

  const BlockQuantizer& to;
  const ScalePlan& plan;
  Floats amax, quotient, scale, factor;
  Words code;
  Words is_held{};  ///< 1 where a limit of the rule decided the code

  BlockScaleTile(const BlockQuantizer& quantizer, const ScalePlan& of) : to(quantizer), plan(of) {}

  static std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
  static float number(std::uint32_t x) { return std::bit_cast<float>(x); }
  /// Of numbers that are not negative: the smaller one, and `limit` for a NaN.
  static float at_most(float x, float limit) {
    const std::uint32_t a = bits(x), b = bits(limit);
    return number(a < b ? a : b);
  }

  /// Returns the bits of the first number that is no zero to the rule's operations.
  std::uint32_t smallest() const { return to.rule.flushes ? 0x00800000 : 0; }
  /// Returns a number that is not negative, or 0 where its bits are below `least`.
  static float or_zero(float x, std::uint32_t least) {
    return number(bits(x) < least ? 0 : bits(x));
  }

  template <class Step>
  static void each(std::size_t n, const Floats& in, Floats& out, const Step& step) {
    for (std::size_t i = 0; i < n; ++i) out[i] = step(in[i]);
  }

  /// Writes a / m of Quotient.
  template <auto encode, auto decode_codes>
  void set_shares(std::size_t n) {
    const float m = plan.most, r = plan.inverse_most;
    if (to.rule.by_reciprocal) {
      each(n, amax, quotient, [=](float a) { return a * r; });
    } else {
      each(n, amax, quotient, [=](float a) { return a / m; });
    }
    if (to.rule.steps == binary32) return;
    std::array<std::byte, 2 * size> narrow;
    EventCounts unused;
    encode(quotient.data(), narrow.data(), n, 0, Quantizer{.format = to.rule.steps}, unused);
    decode_codes(narrow.data(), quotient.data(), n, to.rule.steps);
  }

  template <auto encode_codes, auto decode_codes>
  void set_quotients(std::size_t n) {
    const auto all = [&](const auto& step) { each(n, amax, quotient, step); };
    const auto of_shares = [&](const auto& step) {
      set_shares<encode_codes, decode_codes>(n);
      each(n, quotient, quotient, step);
    };
    const float m = plan.most, r = plan.inverse_most, c = plan.most_scale, share = plan.share;
    const float encode = plan.encode, decode = plan.decode;
    const float largest = number(block_steps::largest);
    const std::uint32_t normal = smallest();
    switch (to.rule.quotient) {
      case Quotient::amax: return all([](float a) { return a; });
      case Quotient::over_power: {
        const float inverse = number(block_steps::power_of_code(127 - to.format.element.emax()));
        return all([=](float a) { return a * inverse; });
      }
      case Quotient::over_max: return set_shares<encode_codes, decode_codes>(n);
      case Quotient::max_over:
        if (!to.rule.one_if_unusable) return all([=](float a) { return m / a; });
        return all([=](float a) {
          const float q = m / a;
          return a == 0 ? 1.0F : q;
        });
      case Quotient::max_over_wide:
        return all([=](float a) {
          const double least = 1e-12, wide = a;
          return static_cast<float>(1.0 / (wide < least ? least : wide) * static_cast<double>(m));
        });
      case Quotient::encode_over_max: {
        const float product = or_zero(encode * r, normal);
        if (to.rule.encode_is_given) return all([=](float a) { return a * product; });
        return all([=](float a) { return at_most(a * product, largest); });
      }
      case Quotient::over_max_over: return of_shares([=](float q) { return q / decode; });
      case Quotient::over_product: {
        const float product = decode * m;
        return all([=](float a) {
          const float q = a / product;
          return q == 0 ? 1.0F : q;
        });
      }
      case Quotient::share_of_max:
        return of_shares([=](float q) { return (q == 0 ? 1.0F : q) * c / share; });
      case Quotient::max_encode:
        return all([=](float a) { return encode * or_zero(a * r, normal); });
      case Quotient::over_max_encode:
      case Quotient::over_max_wide_encode: return of_shares([=](float q) { return q * encode; });
    }
  }

  template <class Step>
  void each_code(std::size_t n, const Step& step) {
    for (std::size_t i = 0; i < n; ++i) code[i] = step(bits(quotient[i]));
  }

  /// Writes the codes of powers of two, before a rule's limits.
  void set_power_codes(std::size_t n) {
    int t = to.format.element.fraction_bits();
    switch (to.rule.rounding) {
      case ScaleRounding::nearest:
      case ScaleRounding::down: return each_code(n, [](std::uint32_t q) { return q >> 23; });
      case ScaleRounding::up:
        return each_code(n, [](std::uint32_t q) {
          constexpr std::uint32_t least = 0x00400000;  // 2^-127
          return q <= least ? 0 : (q + 0x7FFFFF) >> 23;
        });
      case ScaleRounding::field_up:
        return each_code(n, [](std::uint32_t q) { return (q + 0x7FFFFF) >> 23; });
      case ScaleRounding::half_up_to_2: t = 1; [[fallthrough]];
      case ScaleRounding::half_up: {
        const std::uint32_t half = 1U << (22 - t);
        return each_code(n, [=](std::uint32_t q) { return (q + half) >> 23; });
      }
      case ScaleRounding::log2_up:
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint32_t q = bits(quotient[i]), field = q >> 23;
          const auto fraction = static_cast<std::int32_t>(q & 0x7FFFFF);
          code[i] = field + (fraction > log2_rounds_down_to[field & 0xFF] ? 1 : 0);
          if (field == 0 && q != 0) {
            code[i] = static_cast<std::uint32_t>(block_steps::ceil_of_rounded_log2(q) + 127);
          }
        }
        return;
    }
  }

  /// Writes the codes of scales, within a rule's limits.
  template <auto encode>
  void set_codes(std::size_t n) {
    const ScaleRule& rule = to.rule;
    if (rule.factor == binade::Factor::encode) {
      for (std::size_t i = 0; i < n; ++i) code[i] = bits(1.0F / quotient[i]);
      return;
    }
    if (to.format.scale == binary32) return each_code(n, [](std::uint32_t q) { return q; });
    const bool is_power = to.format.scale == e8m0;
    if (is_power) {
      set_power_codes(n);
    } else {
      std::array<std::byte, size> narrow;
      EventCounts unused;
      const Quantizer scales{.format = to.format.scale,
                             .attributes = {.saturation = Saturation::finite}};
      encode(quotient.data(), narrow.data(), n, 0, scales, unused);
      for (std::size_t i = 0; i < n; ++i) code[i] = std::to_integer<std::uint32_t>(narrow[i]);
    }
    const bool infinite_by_code = is_power && (rule.rounding == ScaleRounding::half_up ||
                                               rule.rounding == ScaleRounding::half_up_to_2);
    const int down = is_power && rule.quotient == Quotient::amax ? to.format.element.emax() : 0;
    const int zero = rule.zero_code, first = rule.first_code, last = rule.last_code;
    const int infinite = rule.inf_code;
    const int zero_limit = zero == as_computed ? -0x400 : 0;
    for (std::size_t i = 0; i < n; ++i) {
      const int steps = static_cast<int>(code[i]);
      const bool is_infinite =
          infinite_by_code ? steps == 0xFF : bits(quotient[i]) == block_steps::infinity;
      const int raw = steps - down;
      const int from_zero = raw <= zero_limit ? zero : raw;
      const int at_least = from_zero < first ? first : from_zero;
      const int held = at_least > last ? last : at_least;
      const bool is_told = is_infinite && infinite != as_computed;
      code[i] = static_cast<std::uint32_t>(is_told ? infinite : held);
      is_held[i] = !is_told && raw != held ? 1 : 0;
    }
  }

  /// Writes scales as floats.
  template <auto decode_codes>
  void set_scales(std::size_t n) {
    if (to.format.scale == binary32 || to.format.scale == e8m0) {
      const bool is_power = to.format.scale == e8m0;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t power = code[i] == 0 ? 0x00400000U : code[i] << 23;
        scale[i] = number(is_power ? power : code[i]);
      }
      return;
    }
    std::array<std::byte, size> narrow;
    for (std::size_t i = 0; i < n; ++i) narrow[i] = static_cast<std::byte>(code[i]);
    decode_codes(narrow.data(), scale.data(), n, to.format.scale);
  }

  /// Writes what elements are multiplied by, or divided by.
  void set_factors(std::size_t n) {
    const auto all = [&](const auto& step) { each(n, scale, factor, step); };
    const float encode = plan.encode, decode = plan.decode;
    const float largest = number(block_steps::largest);
    const std::uint32_t least = smallest();
    const auto power = [&](std::uint32_t zero_factor) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t up = 254 - code[i];
        const std::uint32_t inverse = up == 0 ? 0x00400000U : up << 23;
        factor[i] = number(code[i] == 0 ? zero_factor : inverse);
      }
    };
    const auto flushed_reciprocal = [](float x) {
      constexpr float normal = 0x1p-126F;
      const float inverse = 1.0F / (x < normal ? 0.0F : x);
      return inverse < normal ? 0.0F : inverse;
    };
    switch (to.rule.factor) {
      case binade::Factor::power:
      case binade::Factor::power_to_infinity: return power(254U << 23);
      case binade::Factor::power_or_zero:
      case binade::Factor::power_field: return power(0);
      case binade::Factor::power_normal: return power(253U << 23);
      case binade::Factor::power_or_one: return power(block_steps::one);
      case binade::Factor::power_flushed:
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint32_t up = 254 - code[i];
          const std::uint32_t inverse = code[i] == 0 ? block_steps::infinity : up << 23;
          factor[i] = number(bits(quotient[i]) == 0 ? 0 : inverse);
        }
        return;
      case binade::Factor::over_scale: return all([](float s) { return s; });
      case binade::Factor::reciprocal: return all([](float s) { return 1.0F / s; });
      case binade::Factor::encode: factor = quotient; return;
      case binade::Factor::reciprocal_of_product:
        return all([=](float s) { return at_most(1.0F / or_zero(s * decode, least), largest); });
      case binade::Factor::reciprocal_over_scale: return all([=](float s) { return encode / s; });
      case binade::Factor::over_product: return all([=](float s) { return s * decode; });
      case binade::Factor::over_quotient: return all([=](float s) { return s / encode; });
      case binade::Factor::flushed_reciprocal:
      case binade::Factor::flushed_reciprocal_of_amax:
      case binade::Factor::flushed_reciprocal_of_quotient: {
        const bool by_amax = to.rule.factor == binade::Factor::flushed_reciprocal_of_amax;
        const bool by_code = to.rule.factor == binade::Factor::flushed_reciprocal;
        for (std::size_t i = 0; i < n; ++i) {
          const float inverse = flushed_reciprocal(scale[i] * decode);
          const std::uint32_t deciding = by_code ? code[i] : bits(by_amax ? amax[i] : quotient[i]);
          factor[i] = deciding == 0 ? 0.0F : inverse;
        }
        return;
      }
      case binade::Factor::bfloat16_quotient: {
        constexpr std::uint32_t most = block_steps::largest_of(bfloat16);
        return all([=](float s) {
          const std::uint32_t ratio = bits(encode / s), q = ratio < most ? ratio : most;
          return number((q + 0x7FFF + (q >> 16 & 1)) & 0xFFFF0000);
        });
      }
    }
  }

  /// Takes the blocks' amaxes, at most `size`, to codes, factors and counts. Returns whether some
  /// of them are the definition's; for these is_special is 1, and nothing is counted.
  template <auto encode, auto decode_codes>
  bool run(const std::uint32_t* amaxes, std::size_t n, ScaleCounts& counts, Words& is_special) {
    const ScaleRule& rule = to.rule;
    const std::uint32_t least_amax = rule.least_amax, least_normal = smallest();
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t a = amaxes[i] < least_amax ? least_amax : amaxes[i];
      amax[i] = number(a < least_normal ? 0 : a);
    }
    set_quotients<encode, decode_codes>(n);
    const bool has_most = rule.factor == binade::Factor::encode && rule.one_if_unusable;
    const std::uint32_t infinite = has_most ? block_steps::infinity : 0xFFFFFFFF;
    const std::uint32_t kept =
        rule.factor_rounding == FactorRounding::to_power ? block_steps::infinity : 0xFFFFFFFF;
    const std::uint32_t least = rule.least_quotient, most = plan.most_factor;
    const std::uint32_t limited =
        rule.least_quotient > plan.first_unlimited ? rule.least_quotient : plan.first_unlimited;
    Words at_limit;  // 1 where a limit of the quotient decides
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t q = bits(quotient[i]);
      at_limit[i] = q < limited || q == infinite ? 1 : 0;
      const std::uint32_t at_least = q < least ? least : q;
      const std::uint32_t finite = q == infinite ? most : at_least;
      quotient[i] = number((finite < least_normal ? 0 : finite) & kept);
    }
    if (rule.factor_rounding == FactorRounding::log2_floor) {
      each(n, quotient, quotient, [](float q) {
        return number(block_steps::rounded_factor(FactorRounding::log2_floor, bits(q)));
      });
    }
    set_codes<encode>(n);
    set_scales<decode_codes>(n);
    set_factors(n);
    if (rule.flushes) {
      each(n, factor, factor, [=](float f) { return or_zero(f, least_normal); });
    }
    return count(amaxes, n, at_limit, counts, is_special);
  }

  bool count(const std::uint32_t* amaxes, std::size_t n, const Words& at_limit, ScaleCounts& counts,
             Words& is_special) const {
    const ScaleRule& rule = to.rule;
    const bool is_power = to.format.scale == e8m0;
    // Codes from here on are a NaN or an infinity, up to here a zero.
    const std::uint32_t nonfinite = is_power                      ? 0xFF
                                    : to.format.scale == binary32 ? block_steps::infinity
                                                                  : finite_codes(to.format.scale);
    const std::uint32_t zeros = is_power ? 0 : 1;
    const std::uint32_t least = smallest();
    Words largest;  // numbers of the blocks, scaled
    const auto set_largest = [&](const auto& step) {
      for (std::size_t i = 0; i < n; ++i) {
        const float x = number(amaxes[i] < least ? 0 : amaxes[i]);
        largest[i] = bits(step(x, factor[i])) & block_steps::magnitude;
      }
    };
    if (divides(rule)) {
      set_largest([](float x, float by) { return x / by; });
    } else {
      set_largest([](float x, float by) { return x * by; });
    }
    std::uint32_t specials = 0, clamped = 0, zero = 0, infinite = 0, saturated = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto is = [](bool b) { return b ? 1U : 0U; };
      const std::uint32_t q = bits(quotient[i]), y = largest[i];
      const std::uint32_t special = is(amaxes[i] >= block_steps::infinity) |
                                    is(q > block_steps::infinity) | is(y >= block_steps::infinity) |
                                    (is(is_power) & is(code[i] >= 0xFF));
      is_special[i] = special;
      specials += special;
      const std::uint32_t counted = special ^ 1;
      const std::uint32_t by_quotient =
          is(q < block_steps::infinity) & (at_limit[i] | is(q >= plan.scale_overflow) | is_held[i]);
      clamped += counted & is(amaxes[i] != 0) & (is(amaxes[i] < rule.least_amax) | by_quotient);
      zero += counted & is(code[i] < zeros);
      const std::uint32_t is_nonfinite = is(code[i] >= nonfinite);
      infinite += counted & is_nonfinite;
      saturated += counted & (is_nonfinite ^ 1) & is(y >= plan.element_overflow);
    }
    counts.blocks += n - specials;
    counts.clamped += clamped;
    counts.zero += zero;
    counts.nonfinite += infinite;
    counts.saturated += saturated;
    return specials != 0;
  }

  /// Returns the first code of a positive NaN or infinity.
  static std::uint32_t finite_codes(const Format& f) {
    return static_cast<std::uint32_t>(max_bits(f, false)) + 1;
  }
};

template <class V, auto encode, auto decode_codes>
void block_scales_tiles(const BlockQuantizer& to, const std::uint32_t* amaxes, std::size_t n,
                        std::uint32_t* codes, std::uint32_t* factors, ScaleCounts& counts) {
  const ScalePlan plan = scale_plan(to);
  if (!plan.known) return definitions().block_scales(to, amaxes, n, codes, factors, counts);
  BlockScaleTile<V> tile(to, plan);
  typename BlockScaleTile<V>::Words is_special;
  // What the definition gave for the amax before, which is often the same: 0.
  std::uint32_t last = 0, code = 0, factor = 0;
  ScaleCounts of_last;
  for (std::size_t done = 0; done < n; done += tile.size) {
    const std::size_t count = n - done < tile.size ? n - done : tile.size;
    const bool specials =
        tile.template run<encode, decode_codes>(amaxes + done, count, counts, is_special);
    std::memcpy(codes + done, tile.code.data(), count * sizeof *codes);
    std::memcpy(factors + done, tile.factor.data(), count * sizeof *factors);
    for (std::size_t i = 0; specials && i < count; ++i) {
      if (is_special[i] == 0) continue;
      if (of_last.blocks == 0 || last != amaxes[done + i]) {
        last = amaxes[done + i];
        of_last = {};
        definitions().block_scales(to, &last, 1, &code, &factor, of_last);
      }
      codes[done + i] = code;
      factors[done + i] = factor;
      counts += of_last;
    }
  }
}

}  // namespace binade::fast
