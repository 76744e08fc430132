// SPDX-License-Identifier: Apache-2.0
//
// The loops over blocks, compiled for every machine.
#include "emulate/fast/blocks.h"

#include <cmath>
#include <functional>
#include <vector>

#include "emulate/fast/decode.h"
#include "emulate/fast/encode.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize.h"
#include "emulate/fast/vector_block_scales.h"
#include "emulate/fast/vector_blocks.h"

namespace binade::fast {
namespace {

struct Portable {};

/// What the errors of a block under a scale are made of, as floats.
struct ErrorPlan {
  bool is_fast = false, is_squared = false;
  float encode = 1, amax = 0, most = 1;
};

ErrorPlan error_plan(const BlockQuantizer& to) {
  const FourOrSix how = to.rule.four_or_six;
  const std::uint32_t most = block_steps::times(block_steps::largest_of(to.format.element),
                                                block_steps::largest_scale(to.rule, to.format));
  return {.is_fast = how == FourOrSix::magnitudes_fast || how == FourOrSix::squares_fast,
          .is_squared = how == FourOrSix::squares || how == FourOrSix::squares_fast,
          .encode = std::bit_cast<float>(to.tensor.encode),
          .amax = std::bit_cast<float>(to.tensor.amax),
          .most = std::bit_cast<float>(most)};
}

/// Returns the sum of the errors of n elements, whose values are in units of their scale.
float sum_of_errors_under(const ErrorPlan& plan, const float* x, const float* elements,
                          std::size_t n, float scale) {
  const auto error = [&](std::size_t i) {
    const float product = elements[i] * scale;
    const float difference =
        plan.is_fast ? product - x[i] * plan.encode : product * plan.amax / plan.most - x[i];
    return plan.is_squared ? difference * difference : std::fabs(difference);
  };
  return sum_of_errors<float>(n, std::plus<float>{}, error);
}

constexpr Kernels::Encode<float> encode_floats = &quantize_to_codes;
constexpr Kernels::Quantize<float> quantize_floats = &quantize;
constexpr Kernels::Decode<float> decode_floats = &values_of_codes;

}  // namespace

void block_amaxes(const ScaleRule& rule, const float* in, std::size_t n, std::size_t width,
                  std::uint32_t* amaxes) {
  block_amaxes_loops<Portable>(rule, in, n, width, amaxes);
}

void block_scales(const BlockQuantizer& to, const std::uint32_t* amaxes, std::size_t n,
                  std::uint32_t* codes, std::uint32_t* factors, ScaleCounts& counts) {
  block_scales_tiles<Portable, encode_floats, decode_floats>(to, amaxes, n, codes, factors, counts);
}

void block_codes(const BlockQuantizer& to, const float* in, std::size_t n, std::size_t width,
                 const std::uint32_t* factors, std::uint64_t first, const Access& access,
                 std::byte* out, EventCounts& counts) {
  block_codes_tiles<Portable, encode_floats>(to, in, n, width, factors, first, access, out, counts);
}

void block_values(const BlockFormat& format, const std::byte* in, std::size_t n, std::size_t width,
                  const std::uint32_t* scales, std::uint32_t tensor_decode, bool streamed,
                  float* out) {
  block_values_tiles<Portable, decode_floats>(format, in, n, width, scales, tensor_decode, streamed,
                                              out);
}

void block_values(const BlockFormat& format, const std::byte* in, std::size_t n, std::size_t width,
                  const std::uint32_t* scales, std::uint32_t tensor_decode, bool streamed,
                  double* out) {
  block_values_tiles<Portable, decode_floats>(format, in, n, width, scales, tensor_decode, streamed,
                                              out);
}

void block_quantize(const BlockQuantizer& to, const float* in, std::size_t n, std::size_t width,
                    const std::uint32_t* factors, const std::uint32_t* scales, std::uint64_t first,
                    const Access& access, float* out, EventCounts& counts) {
  block_quantize_tiles<Portable, encode_floats, quantize_floats, decode_floats>(
      to, in, n, width, factors, scales, first, access, out, counts);
}

void pack_4(const std::byte* codes, std::size_t n, std::byte* out, NibbleOrder order) {
  pack_4_loops<Portable>(codes, n, out, order);
}

BlockScale chosen_scale(const BlockQuantizer& to, const float* x, std::size_t n,
                        std::uint32_t amax) {
  const BlockScale six = block_scale(to.rule, to.format, amax, to.tensor);
  if (to.rule.four_or_six == FourOrSix::six) return six;
  const ErrorPlan plan = error_plan(to);
  BlockQuantizer nearest = to;
  nearest.attributes = {.saturation = Saturation::finite};
  std::vector<std::byte> codes(n * code_bytes(to.format.element));
  std::vector<float> elements(n);
  const auto sum_under = [&](const BlockScale& scale) {
    EventCounts unused;
    fast::block_codes(nearest, x, n, n, &scale.factor, 0, {}, codes.data(), unused);
    values_of_codes(codes.data(), elements.data(), n, to.format.element);
    const std::uint64_t of_block = convert(scale.code, to.format.scale, binary32).bits;
    return sum_of_errors_under(plan, x, elements.data(), n,
                               std::bit_cast<float>(static_cast<std::uint32_t>(of_block)));
  };
  const BlockScale four = scale_of_four(to.rule, to.format, amax, to.tensor);
  return sum_under(four) < sum_under(six) ? four : six;  // never where one is NaN
}

}  // namespace binade::fast
