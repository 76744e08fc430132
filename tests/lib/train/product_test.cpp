// SPDX-License-Identifier: Apache-2.0
//
// Products of the training engine: emulated ones against lib/gemm with the epilogue in the model,
// the reference against a plain loop, and the conversion of operands.
#include "lib/train/product.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "emulate/philox.h"
#include "lib/gemm/gemm.h"
#include "lib/gemm/named_gemm.h"
#include "lib/text/error.h"
#include "lib/train/ops.h"
#include "lib/train/tensor_core_products.h"

namespace binade::product_test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

using Floats = std::vector<float>;
using View = MatrixView<float>;

/// Numbers of either sign whose exponents spread over 2·`spread` binades, with specials of the
/// dtype at the beginning: -0, its least subnormal, NaN, infinities, its largest number or 10^6.
Floats operands_of(std::size_t n, const Format& dtype, std::uint64_t seed, int spread,
                   bool specials) {
  Floats out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto words = random_words(seed, 0, i);
    const int exponent = static_cast<int>(words[1] % (2 * static_cast<unsigned>(spread))) - spread;
    out[i] = static_cast<float>(std::ldexp(static_cast<double>(words[0]) + 1, exponent - 32));
    if (words[2] % 2 != 0) out[i] = -out[i];
  }
  if (specials) {
    const float least = std::ldexp(1.0F, dtype.quantum_exponent());
    const float most = std::min(1e6F, value_of<float>(max_bits(dtype, false), dtype));
    const Floats first{-0.0F, least, 3 * least, most, -least, 0.0F, nan, 1.5F};
    for (std::size_t i = 0; i < first.size(); ++i) out[i] = first[i];
    out[n - 1] = -inf;
    out[n / 2] = inf;
  }
  round_to(dtype, std::span(out));
  return out;
}

/// Returns the scale by its definition: the largest s with amax·2^s <= the format's largest number;
/// 0 if there are infinities.
int amax_scale(const Floats& values, const Format& f) {
  if (std::ranges::any_of(values, [](float x) { return std::isinf(x); })) return 0;
  double amax = 0;
  for (const float x : values) {
    if (std::isfinite(x)) amax = std::max(amax, std::abs(static_cast<double>(x)));
  }
  const auto most = value_of<double>(max_bits(f, false), f);
  int s = 0;
  while (std::ldexp(amax, s) > most) --s;
  while (std::ldexp(amax, s + 1) <= most) ++s;
  return s;
}

std::vector<std::uint64_t> encoded(const Floats& values, int scale_log2, const Format& f) {
  std::vector<std::uint64_t> out;
  const Attributes fp8{.saturation = f.bits() <= 8 ? Saturation::finite : Saturation::none};
  for (const float x : values) {
    out.push_back(project(exact_of(std::ldexp(static_cast<double>(x), scale_log2)), f, fp8).bits);
  }
  return out;
}

/// Returns the product of a (m, k) and b (n, k), as the instruction and its epilogue give it.
Floats by_gemm(const ProductPlan& plan, const Format& dtype, const Floats& a, const Floats& b,
               std::size_t m, std::size_t n, std::size_t k, const Floats& bias) {
  GemmModel model = *plan.model;
  int sa = 0, sb = 0;
  if (plan.scale == OperandScale::amax) {
    sa = amax_scale(a, model.types.a);
    sb = amax_scale(b, model.types.b);
  }
  model.epilogue = {.alpha = std::ldexp(1.0, -sa - sb), .out = dtype};
  model.bias = binary32;
  GemmOperands x{.m = m, .n = n, .k = k, .a = {}, .b = {}, .c = {}, .bias = {}};
  x.a = encoded(a, sa, model.types.a);
  x.b = encoded(b, sb, model.types.b);
  x.bias = encoded(bias, 0, binary32);
  Floats out;
  for (const std::uint64_t bits : gemm(model, x)) out.push_back(value_of<float>(bits, dtype));
  return out;
}

std::size_t same_bits(const Floats& a, const Floats& b) {
  REQUIRE(a.size() == b.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    same += std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]) ||
                    (std::isnan(a[i]) && std::isnan(b[i]))
                ? 1
                : 0;
  }
  return same;
}

void compare_with_gemm(const ProductChoice& choice, int spread, bool specials) {
  CAPTURE(choice.format);
  CAPTURE(choice.accumulator);
  CAPTURE(choice.promote_every);
  const std::size_t m = 9, n = 7, k = 75;
  const ProductSettings settings = tensor_core_products(choice);
  const Format dtype = training_format(choice.format).dtype;
  const Floats a = operands_of(m * k, dtype, 1, spread, specials);
  const Floats b = operands_of(n * k, dtype, 2, spread, specials);
  const Floats some_bias = operands_of(n, dtype, 3, spread, false);
  std::size_t finite = 0, not_finite = 0;
  for (const Pass pass : {Pass::fprop, Pass::dgrad, Pass::wgrad}) {
    for (const Floats& bias : {Floats{}, some_bias}) {
      const Floats got =
          product<float>(settings, {pass, dtype}, View::dense(a.data(), m, k),
                         View::dense(b.data(), n, k).transposed(), std::span<const float>(bias));
      const ProductPlan& plan = settings.rules[0].plans[static_cast<std::size_t>(pass)];
      const Floats wanted = by_gemm(plan, dtype, a, b, m, n, k, bias);
      CHECK(same_bits(got, wanted) == m * n);
      for (const float x : got) (std::isfinite(x) ? finite : not_finite) += 1;
    }
  }
  CHECK(finite > 0);
  if (specials) CHECK(not_finite > 0);
}

TEST_CASE("emulated products are lib/gemm's with the epilogue of their model, in every bit") {
  for (const bool specials : {false, true}) {
    compare_with_gemm({.format = "binary16"}, 4, specials);
    compare_with_gemm({.format = "binary16", .accumulator = "f16"}, 3, specials);
    compare_with_gemm({.format = "binary16", .promote_every = 2}, 4, specials);
    compare_with_gemm({.format = "binary16", .sm = 70}, 4, specials);
    compare_with_gemm({.format = "bfloat16"}, 30, specials);
    compare_with_gemm({.format = "tf32"}, 20, specials);
    compare_with_gemm({.format = "e4m3"}, 8, specials);
    compare_with_gemm({.format = "e4m3", .sm = 89, .accumulator = "f16"}, 5, specials);
  }
}

TEST_CASE("products of numbers near binary16's least give subnormals, and keep them") {
  const ProductSettings settings = tensor_core_products({.format = "binary16"});
  const float least = 0x1p-24F;
  const Floats a{least, 3 * least, 0x1p-14F, -least}, b{1, 0.5F};
  const Floats got = product<float>(settings, {Pass::fprop, binary16}, View::dense(a.data(), 4, 1),
                                    View::dense(b.data(), 1, 2));
  // Halves of the least are ties: 0.5 to 0, 1.5 to 2.
  CHECK(got == Floats{least, 0, 3 * least, 2 * least, 0x1p-14F, 0x1p-15F, -least, -0.0F});
}

TEST_CASE("an infinite operand of 16 bits stays infinite, so that overflows are found") {
  for (const std::string format : {"binary16", "bfloat16", "tf32"}) {
    CAPTURE(format);
    const ProductSettings settings = tensor_core_products({.format = format});
    const Format dtype = training_format(format).dtype;
    const Floats a{inf, 1, -inf, 1}, one{0.5F, 1};
    const Floats got = product<float>(settings, {Pass::wgrad, dtype}, View::dense(a.data(), 2, 2),
                                      View::dense(one.data(), 2, 1));
    CHECK(got == Floats{inf, -inf});
  }
}

TEST_CASE("an infinite operand of 8 bits is the largest number at scale 1, and the tally tells") {
  // 448 + 2, and 0.125 + 2 although amax would have scaled it; e5m2's largest is 57344.
  for (const auto& row : {std::pair<std::string, float>{"e4m3", 448}, {"e5m2", 57344}}) {
    CAPTURE(row.first);
    ProductTally tally;
    ProductSettings settings = tensor_core_products({.format = "e4m3"});
    settings.rules[0].plans[2].model->types.a = row.first == "e4m3" ? e4m3 : e5m2;
    settings.tally = &tally;
    const Floats a{inf, 1, 0.125F, 1, 1, -inf}, b{1, 2};
    const Floats got = product<float>(settings, {Pass::wgrad, bfloat16},
                                      View::dense(a.data(), 3, 2), View::dense(b.data(), 2, 1));
    CHECK(got == Floats{row.second == 448 ? 450.0F : 57344, 2.125F, -2 * row.second});
    CHECK(tally.a[2].inf_in == 2);
    CHECK(tally.b[2].inf_in == 0);
  }
}

TEST_CASE("a scale of two huge operands gives zero of zeros") {
  ProductSettings settings = tensor_core_products({.format = "e4m3"});
  const Floats a{0x1p100F, 0, 0, 0}, b{0x1p100F, 0};
  const Floats got = product<float>(settings, {Pass::fprop, bfloat16}, View::dense(a.data(), 2, 2),
                                    View::dense(b.data(), 2, 1));
  CHECK(got == Floats{inf, 0});
}

TEST_CASE("the reference is a plain loop where sums are exact") {
  for (const std::size_t k : {1U, 2U, 7U, 64U, 300U}) {
    CAPTURE(k);
    const std::size_t m = 70, n = 9;
    Floats a(m * k), b(k * n), bias(n);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(static_cast<int>(random_word(1, 0, i) % 31) - 15);
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      b[i] = static_cast<float>(static_cast<int>(random_word(2, 0, i) % 31) - 15);
    }
    for (std::size_t j = 0; j < n; ++j) bias[j] = static_cast<float>(j) + 0.5F;
    Floats wanted(m * n), wanted_half(m * n);
    for (std::size_t i = 0; i < m * n; ++i) {
      float sum = 0;
      for (std::size_t t = 0; t < k; ++t) sum += a[i / n * k + t] * b[t * n + i % n];
      wanted[i] = sum + bias[i % n];
      wanted_half[i] = value_of<float>(project(exact_of(wanted[i]), binary16).bits, binary16);
    }
    const View left = View::dense(a.data(), m, k), right = View::dense(b.data(), k, n);
    const std::span<const float> row = bias;
    CHECK(product<float>(reference_products, {Pass::wgrad, binary32}, left, right, row) == wanted);
    CHECK(product<float>(reference_products, {Pass::fprop, binary32}, left, right, row) == wanted);
    CHECK(product<float>(reference_products, {Pass::fprop, binary16}, left, right, row) ==
          wanted_half);
  }
}

TEST_CASE("products refuse shapes that do not fit") {
  const Floats x(6);
  const View a = View::dense(x.data(), 2, 3);
  CHECK_THROWS_WITH_AS(product<float>(reference_products, {Pass::fprop, binary32}, a, a),
                       "product of 2 × 3 and 2 × 3 with 0 biases: the shapes do not fit", Error);
  const View b = a.transposed();
  CHECK_THROWS_AS(
      product<float>(reference_products, {Pass::fprop, binary32}, a, b, std::span<const float>(x)),
      Error);
}

TEST_CASE("amax brings the largest magnitude just under e4m3's 448 and never beyond") {
  const Floats identity{1, 0, 0, 1};
  for (const int e : {-100, -20, -1, 0, 1, 7, 30}) {
    for (const float amax : {448.0F, 450.0F, 256.0F, 300.0F, 224.0F, 226.0F}) {
      CAPTURE(e);
      CAPTURE(amax);
      ProductTally tally;
      ProductSettings settings = tensor_core_products({.format = "e4m3"});
      settings.tally = &tally;
      // Scaled amax lies in (224, 448]; e4m3's least subnormal is 2^-9, half of it a tie to 0.
      const int down = amax > 448 ? 1 : amax <= 224 ? -1 : 0;
      const float least = std::ldexp(1.0F, e - 9 + down);
      const Floats a{-std::ldexp(amax, e), least, std::ldexp(amax, e), least / 2};
      const Floats got =
          product<float>(settings, {Pass::fprop, bfloat16}, View::dense(a.data(), 2, 2),
                         View::dense(identity.data(), 2, 2));
      CHECK(got[1] == least);
      CHECK(got[3] == 0);
      // 450 and 226: to e4m3's neighbours 448 and 224 of the step 32, and 16.
      const float nearest = amax == 450 ? 448 : amax == 226 ? 224 : amax == 300 ? 288 : amax;
      CHECK(got[2] == std::ldexp(nearest, e));
      CHECK(tally.a[0].overflow == 0);
      CHECK(tally.a[0].saturated == 0);
      CHECK(tally.a[0].to_zero == 1);
      CHECK(tally.a[0].values == 4);
    }
  }
}

/// Products of e5m2 by e4m3 without scales, for wgrad only.
ProductSettings wgrad_in_fp8() {
  ProductSettings settings;
  ProductRule rule{.dtype = binary32};
  rule.plans[2].model = parse_gemm("mma.m16n8k32.f32.e5m2.e4m3.f32", 89).model;
  settings.rules.push_back(rule);
  return settings;
}

TEST_CASE("the gradient is the left factor of wgrad, in linear and in matmul") {
  const ProductSettings settings = wgrad_in_fp8();
  // 57344 is e5m2's largest, far over e4m3's 448; 1.15 is 1.125 in e4m3 and 1.25
  // in e5m2, 1.4 is 1.375 and 1.5.
  const Tensor<float> x({1, 2}, binary32, {1.15F, -1.4F});
  const Tensor<float> y({1, 1}, binary32, {57344});
  {
    Tape<float> tape(settings);
    const Var w = tape.input(Tensor<float>({1, 2}));
    const Var out = linear(tape, tape.constant(x), w);
    tape.backward(sum(tape, mul(tape, out, tape.constant(y))));
    CHECK(tape.gradient(w) == Floats{64512, -78848});
  }
  Tape<float> tape(settings);
  const Var w = tape.input(Tensor<float>({2, 1}));
  const Var out = matmul(tape, tape.constant(x), w);
  tape.backward(sum(tape, mul(tape, out, tape.constant(y))));
  CHECK(tape.gradient(w) == Floats{64512, -78848});
}

TEST_CASE("the tally counts products, multiply-adds and what rounding did, by pass and side") {
  ProductTally tally;
  ProductSettings settings = wgrad_in_fp8();
  settings.tally = &tally;
  const Floats a{1.0625F, 1, 1e-9F, 57344, 1e9F, 0}, b{1.0625F, 1.125F, 1};
  for (int i = 0; i < 2; ++i) {
    product<float>(settings, {Pass::wgrad, binary32}, View::dense(a.data(), 2, 3),
                   View::dense(b.data(), 3, 1));
  }
  product<float>(settings, {Pass::fprop, binary32}, View::dense(a.data(), 2, 3),
                 View::dense(b.data(), 3, 1));
  CHECK(tally.products == std::array<std::uint64_t, 3>{1, 0, 2});
  CHECK(tally.multiply_adds == std::array<std::uint64_t, 3>{6, 0, 12});
  CHECK(tally.a[0] == EventCounts{});  // the reference rounds no operand
  CHECK(tally.a[2] ==
        EventCounts{.values = 12, .to_zero = 2, .overflow = 2, .saturated = 2, .inexact = 6});
  CHECK(tally.b[2] == EventCounts{.values = 6, .inexact = 2});
}

TEST_CASE("products of activations run in bfloat16 where weights' run in FP8") {
  const ProductSettings settings = tensor_core_products({.format = "e4m3"});
  const Floats x{1.0078125F}, one{1};  // of bfloat16
  const auto run = [&](bool weights) {
    return product<float>(settings, {Pass::fprop, bfloat16, weights}, View::dense(x.data(), 1, 1),
                          View::dense(one.data(), 1, 1))[0];
  };
  CHECK(run(true) == 1);
  CHECK(run(false) == x[0]);
}

TEST_CASE("ops of another dtype than the rule's take the reference") {
  const ProductSettings settings = tensor_core_products({.format = "binary16"});
  const Floats x{1 + 0x1p-20F}, one{1};
  CHECK(product<float>(settings, {Pass::fprop, binary32}, View::dense(x.data(), 1, 1),
                       View::dense(one.data(), 1, 1)) == x);
}

TEST_CASE("a product that autoswitch sends away is bfloat16's, counted by layer and pass") {
  ProductSettings settings = tensor_core_products({.format = "e4m3"});
  const ProductSettings wide = tensor_core_products({.format = "bfloat16"});
  constexpr std::size_t m = 8, n = 8, k = 32;
  const Floats b = operands_of(k * n, bfloat16, 2, 3, false);
  Floats even(m * k), uneven(m * k);
  for (std::size_t i = 0; i < m * k; ++i) {
    even[i] = i % 2 == 0 ? 0x1p-10F : -0x1p-9F;              // exact in e4m3 at any scale
    uneven[i] = i % 10 == 0 ? 0x1p-20F : even[i] * 1000.0F;  // a tenth underflows beside 2
  }
  round_to(bfloat16, std::span(uneven));
  const Floats small(k * n, 0x1p-8F);
  const auto one = [&](const ProductSettings& s, const Floats& a, Pass pass) {
    return product<float>(s, {.pass = pass, .dtype = bfloat16, .layer = "fc"},
                          View::dense(a.data(), m, k), View::dense(small.data(), k, n));
  };
  Autoswitch autoswitch;
  const Floats in_fp8 = one(settings, uneven, Pass::fprop);
  settings.autoswitch = &autoswitch;
  CHECK(one(settings, uneven, Pass::fprop) == one(wide, uneven, Pass::fprop));
  CHECK(one(settings, uneven, Pass::fprop) != in_fp8);
  settings.autoswitch = nullptr;
  const Floats kept = one(settings, even, Pass::dgrad);
  settings.autoswitch = &autoswitch;
  CHECK(one(settings, even, Pass::dgrad) == kept);
  REQUIRE(autoswitch.tallies().size() == 2);
  CHECK(autoswitch.tallies()[0].layer == "fc");
  CHECK(autoswitch.tallies()[0].gemm == "fprop");
  CHECK(autoswitch.tallies()[0].products == 2);
  CHECK(autoswitch.tallies()[0].switched == 2);
  CHECK(autoswitch.tallies()[0].worst.underflow_percent > 9);
  CHECK(autoswitch.tallies()[1].switched == 0);
  CHECK(autoswitch.tallies()[1].worst.underflow_percent == 0);
  CHECK(autoswitch.tallies()[1].worst.mse == 0);
}

}  // namespace
}  // namespace binade::product_test
