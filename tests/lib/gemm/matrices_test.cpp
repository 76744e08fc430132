// SPDX-License-Identifier: Apache-2.0
//
// Matrices of floats as operands: rounding, places, and what is refused.
#include "lib/gemm/matrices.h"

#include <doctest/doctest.h>

#include <vector>

#include "lib/gemm/gemm.h"
#include "lib/gemm/named_gemm.h"
#include "lib/text/error.h"

namespace binade {
namespace {

const GemmModel& f16_model() {
  static const GemmModel model = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  return model;
}

TEST_CASE("elements are rounded to nearest even, and b is given row after row") {
  const std::vector<float> a{1, 1 + 0x1p-11F, 1 + 3 * 0x1p-11F, 65520, -0.0F, 0x1p-25F};  // 2 × 3
  const std::vector<float> b{1, 2, 3, 4, 5, 6};                                           // 3 × 2
  const std::vector<float> c{1, 2, 3, 4};
  const std::vector<float> bias{0.5F, 0.25F};
  const GemmOperands x =
      rounded_operands(f16_model(), {.m = 2, .n = 2, .k = 3, .a = a, .b = b, .c = c, .bias = bias});
  CHECK(x.m == 2);
  CHECK(x.n == 2);
  CHECK(x.k == 3);
  CHECK(x.a == std::vector<std::uint64_t>{0x3C00, 0x3C00, 0x3C02, 0x7C00, 0x8000, 0});
  CHECK(x.b == std::vector<std::uint64_t>{0x3C00, 0x4200, 0x4500, 0x4000, 0x4400, 0x4600});
  CHECK(x.c == std::vector<std::uint64_t>{0x3F800000, 0x40000000, 0x40400000, 0x40800000});
  CHECK(x.bias == std::vector<std::uint64_t>{0x3F000000, 0x3E800000});
}

TEST_CASE("a product of floats is theirs, C and bias included") {
  const std::vector<float> a{1, 2, 3, 4}, b{5, 6, 7, 8}, c{100, 200, 300, 400}, bias{1000, 2000};
  const auto product = [&](const FloatMatrices& x) {
    return result_values(f16_model(), gemm(f16_model(), rounded_operands(f16_model(), x)));
  };
  CHECK(product({.m = 2, .n = 2, .k = 2, .a = a, .b = b}) == std::vector<double>{19, 22, 43, 50});
  CHECK(product({.m = 2, .n = 2, .k = 2, .a = a, .b = b, .c = c, .bias = bias}) ==
        std::vector<double>{1119, 2222, 1343, 2450});
}

TEST_CASE("sizes that do not fit, and integers, are refused") {
  const std::vector<float> four(4), three(3);
  CHECK_THROWS_WITH_AS(
      rounded_operands(f16_model(), {.m = 2, .n = 2, .k = 2, .a = three, .b = four}),
      "a: 3 elements; by m, n and k there are 4", Error);
  CHECK_THROWS_WITH_AS(
      rounded_operands(f16_model(), {.m = 2, .n = 2, .k = 2, .a = four, .b = four, .bias = three}),
      "bias: 3 elements; by m, n and k there are 2", Error);
  CHECK_THROWS_AS(rounded_operands(f16_model(), {.m = 0, .n = 2, .k = 2, .a = {}, .b = four}),
                  Error);
  const GemmModel integers = parse_gemm("mma.m16n8k32.s32.s8.s8.s32", 90).model;
  CHECK_THROWS_AS(rounded_operands(integers, {.m = 2, .n = 2, .k = 2, .a = four, .b = four}),
                  Error);
  CHECK_THROWS_AS(result_values(integers, std::vector<std::uint64_t>(4)), Error);
}

}  // namespace
}  // namespace binade
