// SPDX-License-Identifier: Apache-2.0
//
// Which epilogues are computed in float, and sums that are rescaled. tests/kernels tests that every
// level gives the definition's bits.
#include "emulate/fast/epilogues.h"

#include <doctest/doctest.h>

namespace binade::epilogues_test {
namespace {

TEST_CASE("an epilogue is nothing, in float, or the definition's") {
  const auto plan = [](const Epilogue& e, const Format& sum, bool has_c) {
    return epilogue_plan({.epilogue = e}, sum, has_c, false);
  };
  CHECK(plan({}, binary32, false).is_nothing);
  CHECK_FALSE(plan({}, binary32, true).is_nothing);
  CHECK(plan({}, binary32, true).is_float);
  CHECK(plan({.beta = 0}, binary32, true).is_nothing);
  for (const Format& out : {binary16, bfloat16, tf32, e4m3, e5m2, e2m1}) {
    CHECK(plan({.alpha = 0.5, .out = out, .saturate = true}, binary16, true).is_float);
  }
  CHECK_FALSE(plan({.alpha = 0.5}, binary64, false).is_float);
  CHECK_FALSE(plan({.compute = binary64, .alpha = 0.5}, binary32, false).is_float);
  CHECK_FALSE(plan({.alpha = 0.5, .out = e8m0}, binary32, false).is_float);
  CHECK_FALSE(epilogue_plan({}, binary32, false, false, 3).is_nothing);
  CHECK(plan({.out = bfloat16, .rounding = Rounding::to_odd}, binary32, true).is_float);
  for (const Epilogue& e : {Epilogue{.sum = bfloat16}, Epilogue{.through = bfloat16},
                            Epilogue{.activation = Activation::silu}}) {
    CHECK_FALSE(plan(e, binary32, false).is_nothing);
    CHECK_FALSE(plan(e, binary32, true).is_float);
    CHECK(plan(e, binary32, true).by_steps);
    CHECK_FALSE(plan(e, binary64, true).by_steps);
  }
}

TEST_CASE("a rescaled sum is rounded once, wherever its scale lies") {
  const auto single = [](float x) { return Typed{bits_of(x), binary32}; };
  CHECK(rescaled(single(3), 4, binary32).bits == bits_of(48.0F));
  CHECK(rescaled(single(0x1p100F), -240, binary32).bits == bits_of(0x1p-140F));
  CHECK(rescaled(single(0x1p-100F), 200, binary32).bits == bits_of(0x1p100F));
  CHECK(rescaled(single(-1), 128, binary32).bits == 0xFF800000);
  CHECK(rescaled(single(0x1.8p0F), -149, binary32).bits == 2);  // a tie, to even
  CHECK(rescaled(single(0x1.4p0F), -149, binary32).bits == 1);
  CHECK(rescaled({0x7E01, binary16}, 1, binary32).bits == 0x7FFFFFFF);
  CHECK(rescaled({0x7E01, binary16}, 0, binary32).bits == 0x7E01);
}

}  // namespace
}  // namespace binade::epilogues_test
