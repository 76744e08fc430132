// SPDX-License-Identifier: Apache-2.0
//
// The kernels of blocks at the level portable, and what those of every level ask about a format or
// a rule before their loops begin (vector_blocks.h, vector_block_scales.h).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "emulate/block_arrays.h"
#include "emulate/block_packing.h"

namespace binade {
struct Access;
}

namespace binade::fast {

/// How many numbers are scaled before they are rounded.
inline constexpr std::size_t block_tile = 4096;

/// What the loops over blocks need of a quantizer, as floats.
struct ScalePlan {
  bool known = false;
  float most = 0, inverse_most = 0;  ///< the largest number of the element format; 1 / that
  float most_scale = 0;              ///< the largest number of the scale's format
  float encode = 1, decode = 1;      ///< of the tensor's scale
  float share = 1;                   ///< amax of the tensor / most
  std::uint32_t most_factor = 0;     ///< bits of what stands for an infinite factor
  /// Bits of the first quotient that overflows as a scale; more than any where none does.
  std::uint32_t scale_overflow = 0xFFFFFFFF;
  std::uint32_t first_unlimited = 0;   ///< bits of the first quotient that no smallest scale limits
  std::uint32_t element_overflow = 0;  ///< bits of the first scaled number that overflows
};

/// Returns the bits of the first float that overflows when it is rounded to a format, half an ulp
/// above its largest number or the next float.
constexpr std::uint32_t first_overflow(const Format& f, Rounding rounding) {
  const std::uint32_t half_above =
      block_steps::largest_of(f) + (1U << (binary32.fraction_bits() - f.precision));
  const Attributes attributes{.rounding = rounding, .saturation = Saturation::finite};
  const bool overflows = (convert(half_above, binary32, f, attributes).flags & Flag::overflow) != 0;
  return overflows ? half_above : half_above + 1;
}

constexpr ScalePlan scale_plan(const BlockQuantizer& to) {
  const Format &element = to.format.element, &scale = to.format.scale;
  const auto fits = [](const Format& f) {
    return fits_in(f, binary32) && f.precision < binary32.precision && f.has_zero &&
           f.padding_bits == 0;
  };
  const bool is_narrow = scale != e8m0 && scale != binary32;
  ScalePlan out;
  out.known = fits(element) && (!is_narrow || (fits(scale) && code_bytes(scale) == 1)) &&
              to.rule.four_or_six == FourOrSix::six &&
              (scale == binary32 || (to.rule.factor_rounding == FactorRounding::none &&
                                     to.rule.factor != binade::Factor::encode)) &&
              (!to.rule.flushes || can_flush(to.rule));
  if (!out.known) return out;
  const auto number = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  const std::uint32_t most = block_steps::largest_of(element);
  out.most = number(most);
  out.inverse_most = number(block_steps::over(block_steps::one, most));
  const block_steps::Operations by{to.rule.flushes};
  out.encode = number(by.held(to.tensor.encode));
  out.decode = number(by.held(to.tensor.decode));
  if (to.format.tensor_scale) {
    out.share = number(block_steps::share(to.rule, to.tensor.amax, most));
  }
  if (to.rule.one_if_unusable) out.most_factor = block_steps::largest_of(to.rule.steps);
  out.most_scale = number(block_steps::largest_scale(to.rule, to.format));
  if (is_narrow) out.scale_overflow = first_overflow(scale, Rounding::ties_to_even);
  out.element_overflow = first_overflow(element, to.rule.cast.ties);
  out.first_unlimited = block_steps::first_unlimited(to.rule, to.format);
  return out;
}

/// For ceil_of_rounded_log2 of emulate/block_quantize.h: the largest n, by exponent field, for
/// which the logarithm of 2^k · (1 + n·2^-23) rounds to k.
inline constexpr auto log2_rounds_down_to = [] {
  std::array<std::int32_t, 256> out{};
  for (std::uint32_t field = 1; field < 255; ++field) {
    const int k = static_cast<int>(field) - 127;
    std::uint32_t n = 0;
    while (block_steps::ceil_of_rounded_log2(field << 23 | (n + 1)) == k) ++n;
    out[field] = static_cast<std::int32_t>(n);
  }
  return out;
}();

/// Returns whether block_codes_tiles knows a format and a rule.
constexpr bool knows_codes(const BlockQuantizer& to) {
  const Format& f = to.format.element;
  const bool is_finished = to.rule.cast.zero != ZeroSign::kept || to.format.twos_complement;
  return fits_in(f, binary32) && f.has_zero && f.padding_bits == 0 &&
         (!is_finished || code_bytes(f) == 1);
}

/// How the values of a format are computed without loss: element · scale is exact in a type, and
/// times the scale of the tensor it is rounded once.
struct ValuePlan {
  bool in_f32 = false, in_f64 = false;
  bool is_integer = false;  ///< two's complement: an integer times the quantum
};

constexpr ValuePlan value_plan(const BlockFormat& format, std::uint32_t tensor_decode) {
  const Format &element = format.element, &scale = format.scale;
  if (!fits_in(element, binary32) || !fits_in(scale, binary32) || element.padding_bits != 0 ||
      scale.padding_bits != 0 || (format.twos_complement && element.bits() != 8) ||
      (scale != e8m0 && scale != binary32 && code_bytes(scale) != 1)) {
    return {};
  }
  const int inner = element.precision + scale.precision;
  const bool exact =
      inner <= binary32.precision &&
      element.quantum_exponent() + scale.quantum_exponent() >= binary32.quantum_exponent() &&
      element.emax() + scale.emax() < binary32.emax();
  const bool is_one = tensor_decode == block_steps::one;
  return {.in_f32 = exact || is_one,
          .in_f64 = inner + (is_one ? 0 : binary32.precision) <= binary64.precision,
          .is_integer = format.twos_complement};
}

/// `block_amaxes`, `block_scales`, `block_codes`, `block_values` and `block_quantize` of
/// emulate/block_arrays.h, and `pack_4` of emulate/block_packing.h; the same bytes and counts.
void block_amaxes(const ScaleRule& rule, const float* in, std::size_t n, std::size_t width,
                  std::uint32_t* amaxes);
void block_scales(const BlockQuantizer& to, const std::uint32_t* amaxes, std::size_t n,
                  std::uint32_t* codes, std::uint32_t* factors, ScaleCounts& counts);
void block_codes(const BlockQuantizer& to, const float* in, std::size_t n, std::size_t width,
                 const std::uint32_t* factors, std::uint64_t first, const Access& access,
                 std::byte* out, EventCounts& counts);
void block_values(const BlockFormat& format, const std::byte* in, std::size_t n, std::size_t width,
                  const std::uint32_t* scales, std::uint32_t tensor_decode, bool streamed,
                  float* out);
void block_values(const BlockFormat& format, const std::byte* in, std::size_t n, std::size_t width,
                  const std::uint32_t* scales, std::uint32_t tensor_decode, bool streamed,
                  double* out);
void block_quantize(const BlockQuantizer& to, const float* in, std::size_t n, std::size_t width,
                    const std::uint32_t* factors, const std::uint32_t* scales, std::uint64_t first,
                    const Access& access, float* out, EventCounts& counts);
void pack_4(const std::byte* codes, std::size_t n, std::byte* out, NibbleOrder order);

/// `chosen_scale` of emulate/block_quantize.h.
BlockScale chosen_scale(const BlockQuantizer& to, const float* x, std::size_t n,
                        std::uint32_t amax);

}  // namespace binade::fast
