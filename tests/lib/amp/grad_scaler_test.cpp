// SPDX-License-Identifier: Apache-2.0
//
// GradScaler: its stages and error texts, found_inf on scaled values, several optimizers, the
// disabled scaler and the arithmetic of unscaling against emulate/unscale.h over all encodings.
#include "lib/amp/grad_scaler.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "emulate/carrier.h"
#include "emulate/unscale.h"
#include "lib/text/error.h"
#include "tests/lib/amp/used_scaler.h"

namespace binade::test::grad_scaler_test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

TEST_CASE("the loss is scaled by 65536 at first") {
  GradScaler scaler;
  CHECK(scaler.get_scale() == 65536);
  CHECK(scaler.scale_loss(0.5F) == 32768);
  CHECK(scaler.get_growth_tracker() == 0);
}

TEST_CASE("a step unscales, steps and counts, an inf skips and halves") {
  GradScaler scaler = used_scaler();
  Counted good(1, {65536, -131072});
  CHECK(scaler.step(good.view));
  CHECK(good.values == std::vector<float>{1, -2});
  CHECK(good.steps == 1);
  scaler.update();
  CHECK(scaler.get_growth_tracker() == 1);
  Counted bad(1, {65536, inf});
  CHECK_FALSE(scaler.step(bad.view));
  CHECK(bad.steps == 0);
  scaler.update();
  CHECK(scaler.get_scale() == 32768);
  CHECK(scaler.get_growth_tracker() == 0);
}

TEST_CASE("NaN counts as inf does") {
  GradScaler scaler = used_scaler();
  Counted bad(1, {std::nanf("")});
  CHECK_FALSE(scaler.step(bad.view));
}

TEST_CASE("what becomes inf only by unscaling stays unnoticed") {
  LossScalePolicy policy = loss_scale_policy("torch");
  policy.init_scale = 0x1p-40;
  GradScaler scaler = used_scaler(policy);
  Counted huge(1, {0x1p100F});
  CHECK(scaler.step(huge.view));
  CHECK(huge.values.front() == inf);
  CHECK(huge.steps == 1);
}

TEST_CASE("the inverse is the binary64 reciprocal rounded to binary32") {
  LossScalePolicy policy = loss_scale_policy("torch");
  policy.init_scale = 3;
  GradScaler scaler = used_scaler(policy);
  Counted optimizer(1, {1});
  scaler.unscale_(optimizer.view);
  CHECK(optimizer.values.front() == static_cast<float>(1.0 / 3.0));
}

TEST_CASE("a scale of 0 unscales by inf, as PyTorch does") {
  LossScalePolicy policy = loss_scale_policy("torch");
  policy.init_scale = 0;
  GradScaler scaler = used_scaler(policy);
  Counted optimizer(1, {0, 1});
  CHECK(scaler.step(optimizer.view));
  CHECK(std::isnan(optimizer.values[0]));
  CHECK(optimizer.values[1] == inf);
}

TEST_CASE("unscaling is emulate/unscale.h on every binary16, bfloat16 and E5M2 encoding") {
  for (const Format& format : {binary16, bfloat16, e5m2}) {
    for (const float scale : {1.0F, 2.0F, 3.0F, 65536.0F, 0x1p-20F, 0.7F, 0x1p120F}) {
      LossScalePolicy policy = loss_scale_policy("torch");
      policy.init_scale = static_cast<double>(scale);
      GradScaler scaler = used_scaler(policy, {.allow_fp16 = true});
      const std::size_t encodings = std::size_t{1} << format.bits();
      std::vector<float> values(encodings);
      for (std::size_t code = 0; code < encodings; ++code)
        values[code] = value_of<float>(code, format);
      scaler.unscale_({1, {{format, values}}, {}});
      const auto inv_scale = static_cast<float>(1 / static_cast<double>(scale));
      std::size_t different = 0;
      for (std::size_t code = 0; code < encodings; ++code) {
        const float expected = value_of<float>(unscaled(code, format, inv_scale), format);
        const bool same = std::isnan(expected) ? std::isnan(values[code])
                                               : bits_of(expected) == bits_of(values[code]);
        different += same ? 0 : 1;
      }
      CHECK(different == 0);
    }
  }
}

TEST_CASE("unscaling is emulate/unscale.h on binary32, subnormals and NaN's bits included") {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0x7F800000; bits += 99991)
    values.push_back(std::bit_cast<float>(bits));
  REQUIRE(values.size() > 20000);
  const std::vector<float> before = values;
  LossScalePolicy policy = loss_scale_policy("torch");
  policy.init_scale = 3;
  used_scaler(policy).unscale_({1, {{binary32, values}}, {}});
  const auto inv_scale = static_cast<float>(1.0 / 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(bits_of(values[i]) == unscaled(bits_of(before[i]), binary32, inv_scale));
  }
  std::vector<float> signaling{std::bit_cast<float>(0x7F800001U)};  // quiet once it is multiplied
  policy.init_scale = 1;
  used_scaler(policy).unscale_({1, {{binary32, signaling}}, {}});
  CHECK(bits_of(signaling.front()) == 0x7F800001U);
}

TEST_CASE("binary16 gradients are refused before any is touched, unless they are allowed") {
  std::vector<float> wide{65536}, half{2};
  OptimizerView view{1, {{binary32, wide}, {binary16, half}}, {}};
  GradScaler scaler = used_scaler();
  CHECK_THROWS_WITH_AS(scaler.unscale_(view), "Attempting to unscale FP16 gradients.", Error);
  CHECK(wide.front() == 65536);
  GradScaler allows = used_scaler(loss_scale_policy("torch"), {.allow_fp16 = true});
  allows.unscale_(view);
  CHECK(wide.front() == 1);
  CHECK(half.front() == 0x1p-15F);
}

TEST_CASE("bfloat16 gradients are fine and binary64 ones are not carried") {
  std::vector<float> values{65536};
  GradScaler scaler = used_scaler();
  scaler.unscale_({1, {{bfloat16, values}}, {}});
  CHECK(values.front() == 1);
  CHECK_THROWS_AS(scaler.unscale_({2, {{binary64, values}}, {}}), Error);
}

TEST_CASE("using the scaler before scale is refused in PyTorch's words") {
  GradScaler scaler;
  Counted optimizer(1, {1});
  CHECK_THROWS_WITH_AS(
      scaler.step(optimizer.view),
      "Attempted step but _scale is None.  This may indicate your script did not use "
      "scaler.scale(loss or outputs) earlier in the iteration.",
      Error);
  CHECK_THROWS_WITH_AS(scaler.unscale_(optimizer.view), doctest::Contains("Attempted unscale_ but"),
                       Error);
  CHECK_THROWS_WITH_AS(scaler.update(), doctest::Contains("Attempted update but"), Error);
}

TEST_CASE("the stages refuse what PyTorch refuses, in its words") {
  GradScaler scaler = used_scaler();
  Counted optimizer(1, {1});
  scaler.unscale_(optimizer.view);
  CHECK_THROWS_WITH_AS(
      scaler.unscale_(optimizer.view),
      "unscale_() has already been called on this optimizer since the last update().", Error);
  scaler.step(optimizer.view);
  CHECK_THROWS_WITH_AS(scaler.unscale_(optimizer.view), "unscale_() is being called after step().",
                       Error);
  CHECK_THROWS_WITH_AS(scaler.step(optimizer.view),
                       "step() has already been called since the last update().", Error);
  CHECK(optimizer.steps == 1);
  scaler.update();
  CHECK_NOTHROW(scaler.unscale_(optimizer.view));
}

TEST_CASE("an optimizer may begin the next iteration, which has not stepped") {
  GradScaler scaler = used_scaler();
  Counted one(1, {65536});
  one.view.step = [&] {
    scaler.update();
    scaler.unscale_(one.view);
  };
  CHECK(scaler.step(one.view));
  one.view.step = {};
  CHECK(scaler.found_inf(1) == false);
  CHECK(scaler.step(one.view));
  CHECK_THROWS_AS(scaler.step(one.view), Error);
}

TEST_CASE("the gradients are divided once, by unscale_ or by step") {
  GradScaler scaler = used_scaler();
  Counted optimizer(1, {65536});
  scaler.unscale_(optimizer.view);
  scaler.step(optimizer.view);
  CHECK(optimizer.values.front() == 1);
}

TEST_CASE("gradients that are None are passed over, and only such are an error") {
  GradScaler scaler = used_scaler();
  std::vector<float> values{65536};
  CHECK(scaler.step({1, {{binary32, {}}, {binary32, values}}, {}}));
  CHECK(values.front() == 1);
  scaler.update();
  CHECK_THROWS_WITH_AS(scaler.step({1, {{binary16, {}}}, {}}),
                       "No inf checks were recorded for this optimizer.", Error);
  CHECK_THROWS_WITH_AS(scaler.update(), "No inf checks were recorded prior to update.", Error);
  CHECK_NOTHROW(scaler.update(8.0F));
  CHECK(scaler.get_scale() == 8);
}

TEST_CASE("each optimizer skips by its own infs, the scale is everyone's") {
  GradScaler scaler = used_scaler();
  Counted good(1, {1}), bad(2, {inf});
  CHECK(scaler.step(good.view));
  CHECK_FALSE(scaler.step(bad.view));
  CHECK(scaler.found_inf(1) == false);
  CHECK(scaler.found_inf(2) == true);
  CHECK_FALSE(scaler.found_inf(3).has_value());
  scaler.update();
  CHECK(scaler.get_scale() == 32768);
  CHECK_FALSE(scaler.found_inf(2).has_value());
}

TEST_CASE("who skipped is told, until the next unscaling") {
  GradScaler scaler = used_scaler();
  std::vector<float> fine{1}, also{1, 2, -inf, inf};
  scaler.step({9, {{binary32, fine}, {binary32, {}}, {binary32, also}}, {}});
  scaler.update();
  REQUIRE(scaler.first_found_inf());
  CHECK(scaler.first_found_inf()->optimizer == 9);
  CHECK(scaler.first_found_inf()->gradient == 2);
  CHECK(scaler.first_found_inf()->element == 2);
  CHECK(scaler.first_found_inf()->value == -inf);
  Counted good(9, {1});
  scaler.step(good.view);
  CHECK_FALSE(scaler.first_found_inf());
}

TEST_CASE("a copy goes on by itself") {
  GradScaler scaler = used_scaler();
  Counted one(1, {65536}), two(1, {65536}), bad(2, {inf});
  scaler.unscale_(bad.view);
  GradScaler copy = scaler;
  GradScaler assigned;
  assigned = copy;
  CHECK(scaler.found_inf(2) == true);
  CHECK_FALSE(scaler.step(bad.view));
  CHECK_FALSE(copy.step(bad.view));  // the stage is still "unscaled" in the copy
  CHECK(scaler.step(one.view));
  scaler.update();
  CHECK(copy.found_inf(2) == true);
  CHECK(copy.get_scale() == 65536);
  CHECK_FALSE(assigned.step(bad.view));
  CHECK(assigned.step(two.view));
  const GradScaler moved = std::move(assigned);
  CHECK(moved.found_inf(2) == true);
}

TEST_CASE("update with a scale leaves the growth tracker alone") {
  GradScaler scaler = used_scaler();
  Counted optimizer(1, {1});
  scaler.step(optimizer.view);
  scaler.update();
  scaler.step(optimizer.view);
  scaler.update(4.0F);
  CHECK(scaler.get_scale() == 4);
  CHECK(scaler.get_growth_tracker() == 1);
}

TEST_CASE("growth is by equality through set_growth_interval, too") {
  GradScaler scaler = used_scaler();
  Counted optimizer(1, {0});
  const auto iterate = [&](int n) {
    for (int i = 0; i < n; ++i) {
      scaler.step(optimizer.view);
      scaler.update();
    }
  };
  scaler.set_growth_interval(3);
  iterate(3);
  CHECK(scaler.get_scale() == 131072);
  iterate(2);
  scaler.set_growth_interval(2);
  iterate(50);
  CHECK(scaler.get_scale() == 131072);
  CHECK(scaler.get_growth_tracker() == 52);
}

TEST_CASE("a state that is set goes on as the one that it was taken from") {
  LossScalePolicy policy = loss_scale_policy("megatron");  // tolerates one overflow
  policy.init_scale = 2.1;
  GradScaler scaler(policy);
  CHECK(scaler.get_scale() == 2.1);  // the given number before the first scale(), its float after
  CHECK(scaler.state().scaler.scale == 2.1);
  scaler.scale_loss(1);
  CHECK(scaler.get_scale() == static_cast<double>(2.1F));
  scaler.set_growth_interval(7);
  Counted bad(1, {inf});
  scaler.step(bad.view);
  scaler.update();
  GradScaler other(loss_scale_policy("megatron"));
  other.set_state(scaler.state());
  CHECK(other.get_growth_interval() == 7);
  CHECK_THROWS_AS(other.update(), Error);  // its scale was not used yet
  other.scale_loss(1);
  for (GradScaler* each : {&scaler, &other}) {
    CHECK(each->get_scale() == static_cast<double>(2.1F));
    each->step(bad.view);
    each->update();
    CHECK(each->get_scale() == static_cast<double>(2.1F) / 2);
  }
}

TEST_CASE("disabled, everything is as without a scaler") {
  GradScaler scaler(loss_scale_policy("torch"), {.enabled = false});
  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.scale_loss(0.1F) == 0.1F);
  Counted optimizer(1, {inf, 0.3F}, binary16);
  scaler.unscale_(optimizer.view);
  scaler.unscale_(optimizer.view);
  CHECK(scaler.step(optimizer.view));
  CHECK(scaler.step(optimizer.view));
  scaler.update();
  CHECK(optimizer.steps == 2);
  CHECK(optimizer.values == std::vector<float>{inf, 0.3F});
  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.get_growth_tracker() == 0);
}

TEST_CASE("a power of two scales and unscales without a trace where nothing under- or overflows") {
  GradScaler scaler = used_scaler();
  std::vector<float> values{0.1F, -3.14159F, 1e-30F, 12345.678F};
  const std::vector<float> before = values;
  scaler.scale(values);
  CHECK(values[0] == 0.1F * 65536);
  scaler.unscale_({1, {{binary32, values}}, {}});
  CHECK(values == before);
}

TEST_CASE("a static scale steps on an inf") {
  GradScaler scaler = used_scaler(loss_scale_policy("static:128"));
  Counted bad(1, {inf, 128});
  CHECK(scaler.step(bad.view));
  CHECK(bad.values[1] == 1);
  scaler.update();
  CHECK(scaler.get_scale() == 128);
}

TEST_CASE(
    "a fused optimizer is always called, with the scale unless unscaled, and with found_inf") {
  GradScaler scaler = used_scaler();
  std::vector<float> values{32768, inf};
  std::vector<std::optional<float>> scales;
  std::vector<bool> infs;
  OptimizerView fused{.id = 1, .gradients = {{binary16, values}}};
  fused.fused_step = [&](std::optional<float> grad_scale, bool found_inf) {
    scales.push_back(grad_scale);
    infs.push_back(found_inf);
  };
  CHECK_FALSE(scaler.step(fused));
  CHECK(values.front() == 32768);
  CHECK_THROWS_WITH_AS(scaler.step(fused),
                       "step() has already been called since the last update().", Error);
  scaler.update();
  CHECK(scaler.get_scale() == 32768);
  fused.gradients[0].dtype = binary32;
  values[1] = 0;
  scaler.unscale_(fused);
  CHECK(scaler.step(fused));
  CHECK(values.front() == 1);
  scaler.update();
  GradScaler disabled(loss_scale_policy("torch"), {.enabled = false});
  CHECK(disabled.step(fused));
  CHECK(scales == std::vector<std::optional<float>>{65536.0F, std::nullopt, std::nullopt});
  CHECK(infs == std::vector<bool>{true, false, false});
}

TEST_CASE("factors on the wrong side of 1 are refused") {
  LossScalePolicy policy = loss_scale_policy("torch");
  policy.growth_factor = 1;
  CHECK_THROWS_WITH_AS(GradScaler{policy}, "The growth factor must be > 1.0.", Error);
  policy.growth_factor = 2;
  policy.backoff_factor = 1;
  CHECK_THROWS_WITH_AS(GradScaler{policy}, "The backoff factor must be < 1.0.", Error);
  CHECK_NOTHROW(GradScaler(policy, {.enabled = false}));
}

}  // namespace
}  // namespace binade::test::grad_scaler_test
