// SPDX-License-Identifier: Apache-2.0
//
// Unscaling against the CPU's own binary32 arithmetic, and each rule of PyTorch's kernel by a case
// that another rule would get wrong.
#include "emulate/unscale.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "emulate/carrier.h"

namespace binade::unscale_test {
namespace {

std::uint32_t bits32(float x) { return std::bit_cast<std::uint32_t>(x); }
constexpr float infinity = std::numeric_limits<float>::infinity();

bool finds_inf(float x, float inv_scale) {
  const std::array in{1.0F, x};
  std::array<float, 2> out{};
  const NonFinite found = unscale(in.data(), out.data(), in.size(), binary32, inv_scale);
  CHECK((found.at == 1) == (found.at < in.size()));
  return found.at < in.size();
}

TEST_CASE("float gradients are multiplied as the CPU multiplies floats") {
  std::mt19937 random(1);
  std::uint64_t subnormal = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float inv = i % 2 == 0 ? std::ldexp(1.0F, static_cast<int>(random() % 60) - 50)
                                 : std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const float want = std::bit_cast<float>(bits) * inv;
    const std::uint64_t got = unscaled(bits, binary32, inv);
    subnormal += want != 0 && std::abs(want) < 0x1p-126F ? 1 : 0;
    if (inv == 1) continue;
    if (got != (std::isnan(want) ? 0x7FFFFFFF : bits32(want))) {
      REQUIRE(got == bits32(want));
    }
  }
  CHECK(subnormal > 1000);
}

TEST_CASE("16-bit gradients are rounded twice: the product to binary32, then to their own type") {
  std::uint64_t differs_from_one_rounding = 0;
  for (const Format& f : {binary16, bfloat16}) {
    for (const float inv : {1.0F, 0x1p-16F, 0.1F, 3.0F, 0x1p-140F}) {
      for (std::uint32_t code = 0; code < 0x10000; ++code) {
        const float product = value_of<float>(code, f) * inv;
        const std::uint64_t want =
            convert(bits32(product), binary32, f, {.nan = NanResult::nvidia}).bits;
        if (unscaled(code, f, inv) != want) REQUIRE(unscaled(code, f, inv) == want);
        const Operands operands{code, bits32(inv), 0};
        const Projected once =
            compute(Operation::multiply, operands, {f, binary32, f}, f, {.nan = NanResult::nvidia});
        differs_from_one_rounding += once.bits != want ? 1 : 0;
      }
    }
  }
  CHECK(differs_from_one_rounding > 0);
}

TEST_CASE("an infinity is found in the scaled gradient, not in the result") {
  CHECK(!finds_inf(1, 0.5F));
  CHECK(finds_inf(infinity, 0.5F));
  CHECK(finds_inf(-infinity, 0));
  CHECK(finds_inf(std::numeric_limits<float>::quiet_NaN(), 1));
  CHECK(!finds_inf(std::numeric_limits<float>::max(), 2));  // overflows, unnoticed
  CHECK(unscaled(bits32(0x1p127F), binary32, 2) == bits32(infinity));
  float out = 0;
  CHECK(unscale(&infinity, &out, 1, binary16, 0x1p-16F) == NonFinite{0, infinity});
  CHECK(out == infinity);
}

TEST_CASE("an inv_scale of 1 multiplies nothing: a float NaN keeps its payload") {
  CHECK(unscaled(0xFFA00001, binary32, 1) == 0xFFA00001);
  CHECK(unscaled(0xFFA00001, binary32, 0.5F) == 0x7FFFFFFF);
  CHECK(unscaled(0xFE01, binary16, 1) == 0x7FFF);
  CHECK(unscaled(0x0001, binary16, 1) == 0x0001);
  CHECK(unscaled(bits32(infinity), binary32, 0) == 0x7FFFFFFF);
}

}  // namespace
}  // namespace binade::unscale_test
