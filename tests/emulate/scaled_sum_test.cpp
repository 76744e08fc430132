// SPDX-License-Identifier: Apache-2.0
//
// Sums under block scales by hand, at the places where the rules of emulate/scaled_sum.h could be
// others: which exponent a group has, what is cut, which zeros count, and NaNs. Words that a B200
// gave are outside/scaled_words_test's.
#include "emulate/scaled_sum.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "emulate/carrier.h"
#include "emulate/dot.h"

namespace binade::scaled_sum_test {
namespace {

constexpr DotTypes fp4{e2m1, e2m1, binary32, binary32};
constexpr DotModel of_products{.block = 32};
constexpr DotModel of_groups{.block = 64, .fraction_bits = 35, .exponent_floor = -139};
constexpr BlockScaling mxf8f6f4{32, e8m0}, mxf4{32, e8m0, 16}, nvf4{16, ue4m3, 16};
constexpr std::uint64_t nan = 0x7FFFFFFF;

/// A product in place k of a dot whose other operands are +0.
struct Product {
  std::size_t k;
  std::uint8_t a, b;
};

/// Returns d of a dot of 64 products (32 of mxf8f6f4) with the same scales for a and for b.
std::uint64_t d_of(DotModel model, const BlockScaling& how, const DotTypes& types,
                   std::initializer_list<Product> products, const std::vector<std::uint8_t>& a,
                   const std::vector<std::uint8_t>& b, float c = 0) {
  std::array<std::uint8_t, 64> x{}, y{};
  for (const Product& p : products) {
    x[p.k] = p.a;
    y[p.k] = p.b;
  }
  model.scaling = how;
  return dot(model, types, x.data(), y.data(), model.block, bits_of(c), NoTrace{},
             {a.data(), b.data()});
}

constexpr std::uint8_t one = 0x2, six = 0x7, minus_six = 0xF;  // of e2m1
constexpr std::uint8_t e8m0_one = 127, ue4m3_one = 0x38;

TEST_CASE("mxf8f6f4: each product has its exponent and those of both scales, and is cut alone") {
  const BlockScaling how = mxf8f6f4;
  CHECK(d_of(of_products, how, fp4, {{0, six, one}}, {130}, {125}) == bits_of(12.0F));
  // 36 = 1.5·1.5·2^4 has exponent 4: of 1 + 2^-22, 2^-22 lies below 2^(4-25).
  CHECK(d_of(of_products, how, fp4, {{0, six, six}, {1, six, minus_six}}, {127}, {127},
             1 + 0x1p-22F) == bits_of(1.0F));
  CHECK(d_of(of_products, how, fp4, {{0, six, six}, {1, six, minus_six}}, {127}, {127},
             1 + 0x1p-21F) == bits_of(1 + 0x1p-21F));
  // Zeros do not count, whatever their scales.
  CHECK(d_of(of_products, how, fp4, {}, {254}, {254}, 0x1p-140F) == bits_of(0x1p-140F));
  // Below the range, and above it.
  CHECK(d_of(of_products, how, fp4, {{0, one, one}}, {0}, {105}) == bits_of(0x1p-149F));
  CHECK(d_of(of_products, how, fp4, {{0, one, one}}, {254}, {128}) == 0x7F800000);
}

TEST_CASE("mxf4 and nvf4: a group is added exactly, and has the exponent of its scales") {
  const std::vector<std::uint8_t> ones4(4, ue4m3_one), ones2(2, e8m0_one);
  // 35 bits below the scales' exponent, 0: 2^-35 stays, 2^-36 is cut.
  CHECK(d_of(of_groups, mxf4, fp4, {{0, six, six}, {1, six, minus_six}}, ones2, ones2, 0x1p-35F) ==
        bits_of(0x1p-35F));
  CHECK(d_of(of_groups, mxf4, fp4, {{0, six, six}, {1, six, minus_six}}, ones2, ones2, 0x1p-36F) ==
        0);
  // Without a product there is no exponent, nor where a scale is zero.
  CHECK(d_of(of_groups, mxf4, fp4, {}, ones2, ones2, 0x1p-36F) == bits_of(0x1p-36F));
  CHECK(d_of(of_groups, nvf4, fp4, {{0, six, six}}, {0, 0x38, 0x38, 0x38}, ones4, 0x1p-36F) ==
        bits_of(0x1p-36F));
  // Groups of 16 under one scale of 32 are two terms: what is cut of each is less than of both.
  const std::vector<std::uint8_t> apart{e8m0_one, e8m0_one - 36}, none{e8m0_one, e8m0_one};
  CHECK(d_of(of_groups, mxf4, fp4,
             {{0, six, six}, {1, six, minus_six}, {32, one, one}, {48, one, one}}, apart,
             none) == 0);
  CHECK(d_of(of_groups, mxf4, fp4,
             {{0, six, six}, {1, six, minus_six}, {32, one, one}, {47, one, one}}, apart,
             none) == bits_of(0x1p-35F));
}

TEST_CASE("ue4m3: significands of scales multiply, subnormal ones at exponent -6; no sign bit") {
  const std::vector<std::uint8_t> ones(4, ue4m3_one), largest(4, 0x7E), least(4, 0x01);
  CHECK(d_of(of_groups, nvf4, fp4, {{0, six, six}}, largest, largest) ==
        bits_of(36.0F * 448 * 448));
  CHECK(d_of(of_groups, nvf4, fp4, {{0, one, one}}, least, ones) == bits_of(0x1p-9F));
  CHECK(d_of(of_groups, nvf4, fp4, {{0, one, one}}, {0x81, 0, 0, 0}, ones) == bits_of(0x1p-9F));
  // 35 bits below -6, not below -9.
  CHECK(d_of(of_groups, nvf4, fp4, {{0, six, six}, {1, six, minus_six}}, least, ones, 0x1p-41F) ==
        bits_of(0x1p-41F));
  CHECK(d_of(of_groups, nvf4, fp4, {{0, six, six}, {1, six, minus_six}}, least, ones, 0x1p-42F) ==
        0);
}

TEST_CASE("a scale that is a NaN makes d one, also over products that are zeros") {
  const std::vector<std::uint8_t> ones(4, ue4m3_one), ones2(2, e8m0_one);
  CHECK(d_of(of_products, mxf8f6f4, fp4, {}, {255}, {127}) == nan);
  CHECK(d_of(of_groups, mxf4, fp4, {}, {127, 255}, ones2) == nan);
  CHECK(d_of(of_groups, nvf4, fp4, {}, {0x38, 0x38, 0x7F, 0x38}, ones) == nan);
  CHECK(d_of(of_groups, nvf4, fp4, {}, ones, {0, 0, 0, 0xFF}) == nan);
  const DotTypes fp8{e5m2, e4m3, binary32, binary32};
  CHECK(d_of(of_products, mxf8f6f4, fp8, {{3, 0x7C, 0x38}}, {0}, {0}) == 0x7F800000);
  CHECK(d_of(of_products, mxf8f6f4, fp8, {{3, 0x7C, 0x00}}, {0}, {0}) == nan);
  CHECK(d_of(of_products, mxf8f6f4, fp8, {{3, 0x00, 0x7F}}, {0}, {0}) == nan);
}

TEST_CASE("a sum that is zero is +0, and longer dots are chains of blocks") {
  const std::vector<std::uint8_t> ones(4, ue4m3_one);
  CHECK(d_of(of_groups, nvf4, fp4, {}, ones, ones, -0.0F) == 0);
  std::array<std::uint8_t, 128> a{}, b{};
  const std::array<std::uint8_t, 8> scales{0x38, 0x38, 0x38, 0x38, 0x40, 0x38, 0x38, 0x38};
  a[0] = a[64] = six;
  b[0] = b[64] = one;
  DotModel model = of_groups;
  model.scaling = nvf4;
  const auto d = [&](const DotScales& x) {
    return dot(model, fp4, a.data(), b.data(), 128, 0, NoTrace{}, x);
  };
  CHECK(d({scales.data(), scales.data()}) == bits_of(6.0F + 24.0F));
  // Scales that are not given are 1.
  CHECK(d({scales.data(), nullptr}) == bits_of(6.0F + 12.0F));
  CHECK(d({}) == bits_of(6.0F + 6.0F));
}

}  // namespace
}  // namespace binade::scaled_sum_test
