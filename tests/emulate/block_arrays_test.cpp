// SPDX-License-Identifier: Apache-2.0
//
// Arrays of blocks: which numbers are of which block, and what is counted of elements and scales.
// What a rule makes of a single block is block_quantize_test's and block_rules_test.py's.
#include "emulate/block_arrays.h"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "emulate/block_packing.h"
#include "emulate/scale_rules.h"

namespace binade::block_arrays_test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

/// What is made of a run of numbers under an amax of the tensor.
struct Made {
  std::vector<std::uint32_t> amaxes, scales;
  std::vector<double> values;
  std::vector<unsigned> codes;
  ScaleCounts blocks;
  EventCounts elements;
};

Made made(const char* rule, const char* format, std::size_t width, const std::vector<float>& in,
          float tensor_amax = 1) {
  const BlockFormat f = *find_block_format(format);
  BlockQuantizer to{.format = f, .rule = find_scale_rule(rule, f)->rule};
  to.tensor = tensor_scale(to.rule, f, std::bit_cast<std::uint32_t>(tensor_amax));
  const std::size_t n = in.size(), blocks = (n + width - 1) / width;
  Made out;
  out.amaxes.resize(blocks);
  out.scales.resize(blocks);
  out.values.resize(n);
  std::vector<std::uint32_t> factors(blocks);
  std::vector<std::byte> codes(n);
  block_amaxes(to.rule, in.data(), n, width, out.amaxes.data());
  block_scales(to, out.amaxes.data(), blocks, out.scales.data(), factors.data(), out.blocks);
  block_codes(to, in.data(), n, width, factors.data(), 0, codes.data(), out.elements);
  block_values(f, codes.data(), n, width, out.scales.data(), to.tensor.decode, out.values.data());
  for (const std::byte code : codes) out.codes.push_back(std::to_integer<unsigned>(code));
  return out;
}

TEST_CASE("a scale is that of its block's neighbours, of which the last block may have fewer") {
  const Made x = made("torchao_even", "mxfp4", 4, {7.5F, -3, 0.5F, 1, 96, 0, -2, 4, 1});
  CHECK(x.scales == std::vector<std::uint32_t>{128, 131, 125});
  CHECK(x.values == std::vector<double>{8, -3, 0, 1, 96, 0, 0, 0, 1});
  CHECK(std::signbit(x.values[6]));
  CHECK(x.blocks == ScaleCounts{.blocks = 3});
  // 7.5 / 2 is no number of e2m1, nor is 0.25, -0.125 or 0.25, which become 0.
  CHECK(x.elements == EventCounts{.values = 9, .to_zero = 3, .subnormal = 1, .inexact = 4});
}

TEST_CASE("amaxes go on from line to line; a rule that passes NaNs over does") {
  std::array<std::uint32_t, 2> amaxes{};
  const ScaleRule rule{};
  block_amaxes(rule, std::array{1.0F, -2.0F, 3.0F}.data(), 3, 2, amaxes.data());
  block_amaxes(rule, std::array{-4.0F, 0.0F, 2.0F}.data(), 3, 2, amaxes.data());
  CHECK(std::bit_cast<float>(amaxes[0]) == 4);
  CHECK(std::bit_cast<float>(amaxes[1]) == 3);
  const std::vector<float> with_nan{1, std::nanf(""), 2};
  CHECK(std::isnan(std::bit_cast<float>(made("ocp", "mxfp4", 4, with_nan).amaxes[0])));
  CHECK(std::bit_cast<float>(made("vllm", "mxfp4", 4, with_nan).amaxes[0]) == 2);
}

TEST_CASE("scales are counted that a limit decided, that are zero, that are no numbers") {
  // OCP's floor: 7.5 saturates, as does 7 but not 6; amaxes below 2^-125 reach the smallest scale.
  CHECK(made("ocp", "mxfp4", 1, {7.5F, 6, 0x1p-126F, 0, inf}).blocks ==
        ScaleCounts{.blocks = 5, .clamped = 1, .nonfinite = 1, .saturated = 1});
  // Rounded up, 6 · 2^-128 would take 2^-128, and what is above it takes 2^-127; where only fields
  // are looked at, what is not above 6 · 2^-127 takes 2^-126 in the place of a smaller power.
  const std::vector<float> tiny{0x1.8p-126F, 0x1.8008p-126F, 0x1.8p-125F, 0x1.8008p-125F, 0};
  CHECK(made("torchao_rceil", "mxfp4", 1, tiny).blocks == ScaleCounts{.blocks = 5, .clamped = 1});
  CHECK(made("triton_kernels", "mxfp4", 1, tiny).blocks.clamped == 3);
  CHECK(made("aiter_up", "mxfp4", 1, tiny).blocks.clamped == 4);  // 2^-127 and more is flushed
  // NVFP4 under amax 1 of the tensor: a block far below it has scale 0, and its factor saturates.
  CHECK(made("te", "nvfp4", 2, {1, 0.5F, 1e-6F, 0, 0, 0}).blocks ==
        ScaleCounts{.blocks = 3, .zero = 2, .saturated = 1});
  // A block above the amax that the tensor's scale was made of is held at 448.
  CHECK(made("te", "nvfp4", 2, {2, 0.5F}).blocks ==
        ScaleCounts{.blocks = 1, .clamped = 1, .saturated = 1});
  // torchao has no scale below 2^-6, DeepGEMM no amax below 1e-4; zeros are no clamped block.
  CHECK(made("torchao", "nvfp4", 2, {1, 0, 1e-6F, 0, 0, 0}).blocks ==
        ScaleCounts{.blocks = 3, .clamped = 1});
  CHECK(made("deepgemm", "fp8_1x128", 2, {1, 0, 1e-6F, 0, 0, 0}).blocks ==
        ScaleCounts{.blocks = 3, .clamped = 1});
}

TEST_CASE("numbers that a rule flushes are counted as numbers that became zero") {
  // Of amax 1.5 · 2^-124 the scale is 2^-126, under which 2^-127 is 0.5; aiter's kernel has 0.
  const std::vector<float> small{0x1.8p-124F, 0x1p-127F, 0};
  CHECK(made("triton_kernels", "mxfp4", 3, small).elements.to_zero == 0);
  CHECK(made("aiter_up", "mxfp4", 3, small).elements.to_zero == 1);
}

TEST_CASE("elements that are counted as NaN, Inf and nonzero are so before they are scaled") {
  // The block's scale is Inf, so that its numbers are 0 · x or NaN.
  const Made x = made("deepgemm", "fp8_1x128", 3, {inf, 1, std::nanf("")});
  CHECK(x.elements.nan_in == 1);
  CHECK(x.elements.inf_in == 1);
  CHECK(x.elements.values == 3);
  // 2^-149 · 2^-8 is 0 in binary32 already.
  CHECK(made("ocp", "mxfp8_e4m3", 2, {0x1p16F, 0x1p-149F}).elements.to_zero == 1);
}

TEST_CASE("two's complement elements count as the numbers that they are") {
  const Made x = made("ocp", "mxint8", 4, {-1, 1, -0x1p-7F, 0});
  CHECK(x.codes == std::vector<unsigned>{0xC0, 0x40, 0, 0});
  CHECK(x.elements.to_zero == 1);
  CHECK(x.values == std::vector<double>{-1, 1, 0, 0});
}

TEST_CASE("values are exact in binary64, and rounded once in binary32") {
  const BlockFormat f = *find_block_format("nvfp4");
  const std::byte six{7};
  const std::uint32_t scale = 0x09;         // 1.125 · 2^-6
  const std::uint32_t tensor = 0x3F800001;  // 1 + 2^-23
  double exact = 0;
  float rounded = 0;
  block_values(f, &six, 1, 1, &scale, tensor, &exact);
  block_values(f, &six, 1, 1, &scale, tensor, &rounded);
  CHECK(exact == 6 * 1.125 * 0x1p-6 * (1 + 0x1p-23));
  CHECK(rounded == static_cast<float>(exact));
  CHECK(rounded != exact);
}

/// Bit `at` of packed bytes, the lowest bit of the first byte first.
unsigned bit_of(const std::vector<std::byte>& bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at / 8]) >> (at % 8) & 1;
}

TEST_CASE("packed codes lie in bytes bit for bit, and come back") {
  for (const std::size_t n : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 64U}) {
    std::vector<std::byte> codes(n), again(n);
    for (std::size_t i = 0; i < n; ++i) codes[i] = static_cast<std::byte>(i * 37 % 64);
    std::vector<std::byte> six(packed_6_bytes(n), std::byte{0xFF}), four((n + 1) / 2), other(four);
    pack_6(codes.data(), n, six.data());
    unpack_6(six.data(), n, again.data());
    CHECK(again == codes);
    for (std::size_t i = 0; i < six.size() * 8; ++i) {
      const unsigned code = i / 6 < n ? std::to_integer<unsigned>(codes[i / 6]) : 0;
      CHECK(bit_of(six, i) == (code >> (i % 6) & 1));
    }
    for (std::byte& code : codes) code &= std::byte{0xF};
    pack_4(codes.data(), n, four.data());
    pack_4(codes.data(), n, other.data(), NibbleOrder::high_first);
    for (std::size_t i = 0; i < four.size() * 2; ++i) {
      const unsigned code = i < n ? std::to_integer<unsigned>(codes[i]) : 0;
      for (unsigned k = 0; k < 4; ++k) {
        CHECK(bit_of(four, 4 * i + k) == (code >> k & 1));
        CHECK(bit_of(other, 4 * (i ^ 1) + k) == (code >> k & 1));
      }
    }
    unpack_4(four.data(), n, again.data());
    CHECK(again == codes);
    unpack_4(other.data(), n, again.data(), NibbleOrder::high_first);
    CHECK(again == codes);
  }
}

}  // namespace
}  // namespace binade::block_arrays_test
