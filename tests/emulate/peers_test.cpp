// SPDX-License-Identifier: Apache-2.0
//
// Defects found in other emulators, as cases that must come out right here. Each test names the
// library and what it did.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "emulate/operation.h"
#include "emulate/quantize.h"

namespace binade::peers_test {
namespace {

std::uint64_t from_float(float x, const Format& to, const Attributes& attributes = {}) {
  return convert(bits_of(x), binary32, to, attributes).bits;
}

TEST_CASE("stochastic rounding of 1 + 0.3 ulp goes up for three draws in ten (CPFloat 0.6: none)") {
  constexpr std::uint64_t draws = 1 << 20;
  const auto x = static_cast<float>(1 + 0.3 * 0x1p-10);
  const auto fraction = static_cast<std::uint64_t>(std::ldexp(static_cast<double>(x) - 1, 10 + 32));
  const Quantizer to{
      .format = binary16, .attributes = {.rounding = Rounding::stochastic}, .seed = 1};
  EventCounts counts;
  std::uint64_t ups = 0;
  std::uint64_t due = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    ups += quantize_one(x, i, to, counts) == 0x3C01 ? 1 : 0;
    due += fraction + random_word(to.seed, to.stream, i) >= std::uint64_t{1} << 32 ? 1 : 0;
  }
  CHECK(ups == due);
  CHECK(std::abs(static_cast<double>(ups) / draws - 0.3) < 0.002);
}

TEST_CASE(
    "stochastic rounding reaches the smallest subnormal from below (StochasticRounding.jl #62)") {
  const Attributes one_bit{.rounding = Rounding::stochastic, .random_bits = 1};
  CHECK(convert(bits_of(0x1p-25F), binary32, binary16, one_bit, 1).bits == 0x0001);
  CHECK(convert(bits_of(0x1p-25F), binary32, binary16, one_bit, 0).bits == 0x0000);
}

TEST_CASE("e4m3 ends at 448: 465 is NaN or, saturated, 448 (CPFloat: 480)") {
  CHECK(value_of<float>(max_bits(e4m3, false), e4m3) == 448.0F);
  CHECK(from_float(464.0F, e4m3) == 0x7E);
  CHECK(from_float(465.0F, e4m3) == 0x7F);
  CHECK(from_float(480.0F, e4m3) == 0x7F);
  CHECK(from_float(465.0F, e4m3, {.saturation = Saturation::finite}) == 0x7E);
  CHECK(from_float(1e9F, e4m3, {.saturation = Saturation::finite}) == 0x7E);
  CHECK(std::isnan(value_of<float>(0x7F, e4m3)));
}

TEST_CASE("a NaN with a small payload stays a NaN in every format that has one (CPFloat: Inf)") {
  for (const NamedFormat& row : formats) {
    if (!row.format.has_nan()) continue;
    CAPTURE(row.name);
    for (const NanResult rule : {NanResult::quiet, NanResult::nvidia, NanResult::propagate}) {
      for (const NamedRounding& rounding : roundings) {
        for (std::uint32_t payload = 1; payload < 8192; payload += 7) {
          const Attributes attributes{.rounding = rounding.rounding, .nan = rule};
          const Projected got = convert(0x7F800000 | payload, binary32, row.format, attributes);
          REQUIRE(decode(got.bits, row.format).kind == Kind::nan);
          REQUIRE(got.flags == Flag::invalid);
        }
      }
    }
  }
}

Projected half(Operation operation, const Operands& bits, const Attributes& attributes = {}) {
  return compute(operation, bits, {binary16, binary16, binary16}, binary16, attributes);
}

TEST_CASE("39c0 * c3fe + 07fe rounds once, to c1bf (CPFloat fma and fmaf with F16C: c1be)") {
  CHECK(half(Operation::multiply_add, {0x39C0, 0xC3FE, 0x07FE}) ==
        Projected{0xC1BF, Flag::inexact});
}

TEST_CASE(
    "2^15 + 2^-48 rounds upwards past 2^15 (a binary64 fma, then binary16: the bit is gone)") {
  const Operands bits{0x0001, 0x0001, 0x7800};
  CHECK(half(Operation::multiply_add, bits, {.rounding = Rounding::toward_positive}) ==
        Projected{0x7801, Flag::inexact});
  const Operands minus{0x8001, 0x0001, 0x7800};
  CHECK(half(Operation::multiply_add, minus, {.rounding = Rounding::toward_zero}) ==
        Projected{0x77FF, Flag::inexact});
  CHECK(std::fma(-0x1p-24, 0x1p-24, 0x1p15) == 0x1p15);
}

TEST_CASE("+0 + -0 is +0, and -0 only downwards (Universal cfloat<16,5>: -0)") {
  CHECK(half(Operation::add, {0x0000, 0x8000}) == Projected{0x0000, 0});
  CHECK(half(Operation::add, {0x8000, 0x0000}) == Projected{0x0000, 0});
  const Attributes down{.rounding = Rounding::toward_negative};
  CHECK(half(Operation::add, {0x0000, 0x8000}, down) == Projected{0x8000, 0});
  CHECK(half(Operation::add, {0x7C00, 0x3C00}) == Projected{0x7C00, 0});
  CHECK(half(Operation::add, {0x7FFE, 0x3C00}) == Projected{0x7E00, 0});
}

TEST_CASE(
    "65536 and 65520 become Inf in binary16, 65519 the largest number (pychop: 0 and 65536)") {
  CHECK(from_float(65536.0F, binary16) == 0x7C00);
  CHECK(from_float(65520.0F, binary16) == 0x7C00);
  CHECK(from_float(65519.0F, binary16) == 0x7BFF);
  CHECK(from_float(-65536.0F, binary16) == 0xFC00);
}

TEST_CASE("-0 keeps its sign where the format has one (pychop, Universal: +0)") {
  CHECK(from_float(-0.0F, binary16) == 0x8000);
  CHECK(from_float(-0.0F, bfloat16) == 0x8000);
  CHECK(from_float(-0.0F, e4m3) == 0x80);
  CHECK(from_float(-0x1p-40F, binary16) == 0x8000);
  CHECK(std::signbit(value_of<float>(0x80, e5m2)));
}

TEST_CASE("102.50002 subnormal ulps of binary16 round once, to 103 (pychop: 102)") {
  const double x = std::ldexp(102.50002, -24);
  CHECK(convert(bits_of(x), binary64, binary16).bits == 103);
  CHECK(convert(bits_of(static_cast<float>(x)), binary32, binary16).bits == 103);
  CHECK(convert(bits_of(std::ldexp(102.5, -24)), binary64, binary16).bits == 102);
}

TEST_CASE("binary16 encodings 7C00 and 7FFE are Inf and NaN (Universal cfloat<16,5>: numbers)") {
  CHECK(decode(0x7C00, binary16).kind == Kind::infinite);
  CHECK(decode(0x7FFE, binary16).kind == Kind::nan);
  CHECK(decode(0x7C01, binary16).signaling);
  CHECK(from_float(std::numeric_limits<float>::infinity(), binary16) == 0x7C00);
}

TEST_CASE(
    "two threads with different roundings do not see each other (SoftFloat: one global mode)") {
  const auto count_wrong = [](Rounding rounding, std::uint64_t want, std::size_t& wrong) {
    for (int i = 0; i < 200000; ++i) {
      const Projected got =
          convert(bits_of(1.0F + 0x1p-20F), binary32, binary16, {.rounding = rounding});
      wrong += got == Projected{want, Flag::inexact} ? 0 : 1;
    }
  };
  std::size_t wrong_up = 0;
  std::size_t wrong_down = 0;
  std::thread up(count_wrong, Rounding::toward_positive, 0x3C01, std::ref(wrong_up));
  std::thread down(count_wrong, Rounding::toward_negative, 0x3C00, std::ref(wrong_down));
  up.join();
  down.join();
  CHECK(wrong_up == 0);
  CHECK(wrong_down == 0);
}

TEST_CASE("float to bfloat16 and back is compared, not only run (testfloat_ver: checks nothing)") {
  std::uint64_t compared = 0;
  std::uint64_t different = 0;
  for (std::uint32_t i = 0; i < 1 << 20; ++i) {
    const std::uint32_t x = i * 4099U;
    if ((x & 0x7FFFFFFF) > 0x7F800000) continue;
    const std::uint32_t nearest = (x + 0x7FFF + (x >> 16 & 1)) >> 16;
    const std::uint64_t got = convert(x, binary32, bfloat16).bits;
    different += got == nearest ? 0 : 1;
    different += convert(got, bfloat16, binary32).bits == got << 16 ? 0 : 1;
    ++compared;
  }
  CHECK(compared > 1000000);
  CHECK(different == 0);
}

TEST_CASE("bfloat16 keeps its subnormals (vcvtne2ps2bf16: 1e-39 becomes 0)") {
  CHECK(from_float(1e-39F, bfloat16) == 0x000B);
  CHECK(from_float(1e-39F, bfloat16, {.flush_results = true}) == 0x0000);
}

}  // namespace
}  // namespace binade::peers_test
