// SPDX-License-Identifier: Apache-2.0
//
// The loops over blocks, compiled for every machine.
#include "emulate/fast/blocks.h"

#include "emulate/fast/decode.h"
#include "emulate/fast/encode.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize.h"
#include "emulate/fast/vector_block_scales.h"
#include "emulate/fast/vector_blocks.h"

namespace binade::fast {
namespace {

struct Portable {};

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
                 const std::uint32_t* factors, std::uint64_t first, std::byte* out,
                 EventCounts& counts) {
  block_codes_tiles<Portable, encode_floats>(to, in, n, width, factors, first, out, counts);
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
                    bool streamed, float* out, EventCounts& counts) {
  block_quantize_tiles<Portable, encode_floats, quantize_floats, decode_floats>(
      to, in, n, width, factors, scales, first, streamed, out, counts);
}

void pack_4(const std::byte* codes, std::size_t n, std::byte* out, NibbleOrder order) {
  pack_4_loops<Portable>(codes, n, out, order);
}

}  // namespace binade::fast
