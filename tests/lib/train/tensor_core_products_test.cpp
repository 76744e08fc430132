// SPDX-License-Identifier: Apache-2.0
//
// Which instruction each pass of a training's products takes, by architecture and format.
#include "lib/train/tensor_core_products.h"

#include <doctest/doctest.h>

#include "lib/gemm/named_gemm.h"
#include "lib/text/error.h"

namespace binade::tensor_core_products_test {
namespace {

void check_models(const ProductChoice& choice, const std::array<const char*, 3>& names) {
  const ProductSettings settings = tensor_core_products(choice);
  REQUIRE(settings.rules.size() > 0);
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    REQUIRE(settings.rules[0].plans[i].model.has_value());
    CHECK((*settings.rules[0].plans[i].model == parse_gemm(names[i], choice.sm).model));
  }
}

TEST_CASE("each architecture has its usual instructions") {
  const auto all = [](const char* name) { return std::array<const char*, 3>{name, name, name}; };
  check_models({.format = "binary16", .sm = 70}, all("mma.m8n8k4.f32.f16.f16.f32"));
  check_models({.format = "binary16", .sm = 75}, all("mma.m16n8k8.f32.f16.f16.f32"));
  check_models({.format = "binary16", .sm = 80}, all("mma.m16n8k16.f32.f16.f16.f32"));
  check_models({.format = "binary16", .sm = 90, .accumulator = "f16"},
               all("mma.m16n8k16.f16.f16.f16.f16"));
  check_models({.format = "bfloat16", .sm = 90}, all("mma.m16n8k16.f32.bf16.bf16.f32"));
  check_models({.format = "tf32", .sm = 80}, all("mma.m16n8k8.f32.tf32.tf32.f32"));
}

TEST_CASE("FP8 has gradients in e5m2, as left operand, a scale a tensor, and bfloat16 elsewhere") {
  const ProductChoice choice{.format = "e4m3", .sm = 90};
  check_models(choice, {"wgmma.m64n8k32.f32.e4m3.e4m3", "wgmma.m64n8k32.f32.e5m2.e4m3",
                        "wgmma.m64n8k32.f32.e5m2.e4m3"});
  const ProductSettings settings = tensor_core_products(choice);
  REQUIRE(settings.rules.size() == 2);
  CHECK(settings.rules[0].weights_only);
  CHECK_FALSE(settings.rules[1].weights_only);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(settings.rules[0].plans[i].scale == OperandScale::amax);
    CHECK(settings.rules[1].plans[i].scale == OperandScale::none);
    CHECK(settings.rules[1].plans[i].model->types.a == bfloat16);
  }
  CHECK(settings.rules[0].dtype == bfloat16);
  CHECK(settings.rules[1].dtype == bfloat16);
}

TEST_CASE("an instruction by name takes the place of one pass") {
  ProductChoice choice{.format = "binary16", .sm = 90};
  choice.instruction[1] = "mma.m16n8k16.f16.f16.f16.f16";
  check_models(choice, {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f16.f16.f16.f16",
                        "mma.m16n8k16.f32.f16.f16.f32"});
}

TEST_CASE("promotion is the sums' own") {
  const ProductSettings settings =
      tensor_core_products({.format = "e4m3", .sm = 90, .promote_every = 4});
  for (const ProductPlan& plan : settings.rules[0].plans) CHECK(plan.model->sum.promote_every == 4);
}

TEST_CASE("binary32 and the reference emulate nothing") {
  CHECK(tensor_core_products({.format = "binary32"}).rules.empty());
  for (const char* format : {"binary16", "bfloat16"}) {
    CHECK(tensor_core_products({.format = format, .accumulator = "reference"}).rules.empty());
  }
}

TEST_CASE("what an architecture does not have is refused") {
  CHECK_THROWS_AS(tensor_core_products({.format = "e4m3", .sm = 80}), Error);
  CHECK_THROWS_AS(tensor_core_products({.format = "bfloat16", .sm = 75}), Error);
  CHECK_THROWS_AS(tensor_core_products({.format = "tf32", .accumulator = "reference"}), Error);
  CHECK_THROWS_AS(tensor_core_products({.format = "e4m3", .accumulator = "reference"}), Error);
  CHECK_THROWS_AS(tensor_core_products({.format = "nothing"}), Error);
  ProductChoice wide{.format = "binary16", .sm = 90};
  wide.instruction[0] = "mma.m8n8k4.f64.f64.f64.f64";
  CHECK_THROWS_AS(tensor_core_products(wide), Error);
}

}  // namespace
}  // namespace binade::tensor_core_products_test
