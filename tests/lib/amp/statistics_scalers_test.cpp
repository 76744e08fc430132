// SPDX-License-Identifier: Apache-2.0
//
// The loss scalers that look at gradients: LogMax, the two-bin histogram, per layer, autoswitch, and the
// statistics they are fed with.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lib/amp/autoswitch.h"
#include "lib/amp/histogram_scaler.h"
#include "lib/amp/layer_scaler.h"
#include "lib/amp/log_max_scaler.h"
#include "lib/amp/step_statistics.h"
#include "lib/tensor/error.h"

namespace binade::test::statistics_scalers_test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

TEST_CASE("statistics count values, zeros and what is not finite, and sum the rest") {
  const std::vector<float> a{1, -2, 0, inf}, b{std::nanf(""), 0.5F};
  const std::vector<std::span<const float>> both{a, b};
  const StepStatistics step = statistics_of(both);
  CHECK(step.found_inf);
  CHECK(step.amax == 2);
  REQUIRE(step.tensors.size() == 2);
  CHECK(step.tensors[0].values == 4);
  CHECK(step.tensors[0].zeros == 1);
  CHECK(step.tensors[0].not_finite == 1);
  CHECK(step.tensors[0].sum == -1);
  CHECK(step.tensors[0].sum_of_squares == 5);
  CHECK(step.tensors[1].not_finite == 1);
  CHECK_FALSE(statistics_of(std::vector<std::span<const float>>{}).found_inf);
}

TEST_CASE("LogMax of a constant maximum comes to 2^16 over it") {
  LogMaxScaler scaler;
  CHECK(scaler.scale() == 1);
  for (int i = 0; i < 3; ++i) {
    CHECK(scaler.update(false, 0x1p-3F));
    CHECK(scaler.mean() == doctest::Approx(-3).epsilon(1e-5));
    // The variance is a difference of squares, so rounding leaves a sigma of up to about 2e-2.
    CHECK(scaler.scale() <= 0x1p19F * 1.0001F);
    CHECK(scaler.scale() >= 0x1p19F * 0.9F);
  }
}

TEST_CASE("LogMax subtracts 3.09 standard deviations") {
  LogMaxScaler scaler;
  for (int i = 0; i < 20000; ++i) scaler.update(false, i % 2 == 0 ? 0x1p-2F : 0x1p-4F);
  CHECK(scaler.mean() == doctest::Approx(-3).epsilon(0.01));
  CHECK(scaler.sigma() == doctest::Approx(1).epsilon(0.01));
  CHECK(std::log2(scaler.scale()) == doctest::Approx(16 + 3 - 3.09).epsilon(0.01));
}

TEST_CASE("LogMax takes 65536 for the logarithm of an overflow, and falls to its minimum") {
  LogMaxScaler scaler;
  for (int i = 0; i < 100; ++i) scaler.update(false, 1);
  CHECK(scaler.scale() > 60000);
  CHECK_FALSE(scaler.update(true, 1));
  CHECK(scaler.scale() == 1);
  CHECK(scaler.mean() > 500);  // 0.01 · 65536 / (1 - 0.99^101)
}

TEST_CASE("LogMax's scale is NaN for good after a gradient of zeros") {
  LogMaxScaler scaler;
  scaler.update(false, 0);
  scaler.update(false, 1);
  CHECK(std::isnan(scaler.scale()));
}

TEST_CASE(
    "the histogram doubles where nothing is above a sixteenth of the maximum, and halves else") {
  HistogramScaler scaler;
  const std::vector<float> low(1000, 65504.0F / 16);
  scaler.count(low);
  scaler.update();
  CHECK(scaler.scale() == 2);
  scaler.count(low);
  scaler.count(std::vector<float>{4096});
  scaler.update();
  CHECK(scaler.scale() == 1);
}

TEST_CASE("the histogram tolerates its share and counts NaN and inf as above") {
  HistogramOptions options;
  options.upper_share = 0.25;
  HistogramScaler scaler(options);
  scaler.count(std::vector<float>{0, 0, 0, inf});  // exactly the share
  scaler.update();
  CHECK(scaler.scale() == 2);
  scaler.count(std::vector<float>{0, 0, std::nanf(""), -inf});
  scaler.update();
  CHECK(scaler.scale() == 1);
}

TEST_CASE("the histogram decides once a period and forgets then") {
  HistogramOptions options;
  options.period = 3;
  HistogramScaler scaler(options);
  scaler.count(std::vector<float>{inf});
  scaler.update();
  scaler.update();
  CHECK(scaler.scale() == 1);
  scaler.update();
  CHECK(scaler.scale() == 0.5F);
  for (int i = 0; i < 3; ++i) scaler.update();
  CHECK(scaler.scale() == 1);
  options.period = 0;
  CHECK_THROWS_AS(HistogramScaler{options}, Error);
}

TEST_CASE("the histogram's scale stays finite, and comes down again") {
  HistogramScaler scaler;
  for (int i = 0; i < 200; ++i) scaler.update();  // gradients of zeros
  CHECK(scaler.scale() == 0x1p127F);
  scaler.count(std::vector<float>{inf});
  scaler.update();
  CHECK(scaler.scale() == 0x1p126F);
}

TEST_CASE("an adaptive layer scale is the power of two that leaves the chosen share to underflow") {
  AdaptiveLayerScaler scaler(2);
  scaler.begin_step();
  // sigma = 2^-5 · 2^-8 · sqrt(0.5 · 2) = 2^-13; 6e-8 / (1e-3 · 2^-13) = 0.49: no scaling is wanted.
  const std::vector<float> large(8, 0x1p-5F), weights(8, 0x1p-8F);
  CHECK(scaler.next(1, large, weights, 2) == 1);
  // 2^-10 · 2^-8: 6e-8 / (1e-3 · 2^-18) = 15.7, down to 8.
  const std::vector<float> small(8, 0x1p-10F);
  CHECK(scaler.next(0, small, weights, 2) == 8);
  CHECK(scaler.product() == 8);
  CHECK(scaler.layer_scale(0) == 8);
}

TEST_CASE("an adaptive layer scale is capped at 16 and the product at 1024") {
  AdaptiveLayerScaler scaler(4);
  scaler.begin_step();
  const std::vector<float> tiny(8, 0x1p-30F), weights(8, 0x1p-8F);
  CHECK(scaler.next(3, tiny, weights, 2) == 16);
  CHECK(scaler.next(2, tiny, weights, 2) == 16);
  CHECK(scaler.next(1, tiny, weights, 2) == 4);
  CHECK(scaler.next(0, tiny, weights, 2) == 1);
  CHECK(scaler.product() == 1024);
  scaler.begin_step();
  CHECK(scaler.product() == 1);
}

TEST_CASE("an adaptive layer scale goes below 1 where the sums could overflow") {
  AdaptiveLayerScaler scaler(1);
  scaler.begin_step();
  const std::vector<float> gradient{1024}, weights{16};
  // 6e4 / 16 terms / 16384 = 0.229: 2^-3.
  CHECK(scaler.next(0, gradient, weights, 16) == 0.125F);
}

TEST_CASE(
    "adaptive scales are chosen anew each interval only, zeros ask for none, inf is refused") {
  AdaptiveOptions options;
  options.interval = 2;
  AdaptiveLayerScaler scaler(1, options);
  const std::vector<float> tiny(8, 0x1p-30F), large(8, 1.0F), zeros(8, 0.0F), weights(8, 0x1p-8F);
  scaler.begin_step();
  CHECK(scaler.next(0, tiny, weights, 2) == 16);
  scaler.begin_step();
  CHECK(scaler.next(0, large, weights, 2) == 16);
  scaler.begin_step();
  CHECK(scaler.next(0, zeros, weights, 2) == 1);
  scaler.begin_step();
  scaler.begin_step();
  CHECK_THROWS_AS(scaler.next(0, std::vector<float>{inf}, weights, 2), Error);
}

TEST_CASE("layerwise scalers back off alone") {
  LayerwiseScaler scaler(3, loss_scale_policy("torch"));
  CHECK(scaler.update(0, false));
  CHECK_FALSE(scaler.update(1, true));
  CHECK(scaler.scale(0) == 65536);
  CHECK(scaler.scale(1) == 32768);
  CHECK(scaler.scale(2) == 65536);
}

TEST_CASE("autoswitch switches above five percent of underflow or a mean squared error of 1e-4") {
  std::vector<float> before(100, 1.0F), after(100, 1.0F);
  for (std::size_t i = 0; i < 5; ++i) before[i] = 1e-6F, after[i] = 0;
  const OperandLoss five = operand_loss(before, after);
  CHECK(five.underflow_percent == 5);
  before[5] = 1e-6F;
  after[5] = 0;
  const OperandLoss six = operand_loss(before, after);
  CHECK(six.underflow_percent == 6);
  Autoswitch autoswitch;
  CHECK_FALSE(autoswitch.decide(0, "fc1", "fprop", std::vector{five, five}));
  CHECK(autoswitch.decide(0, "fc1", "dgrad", std::vector{five, six}));
  CHECK(autoswitch.decide(1, "fc1", "fprop", std::vector{OperandLoss{0, 1.1e-4}}));
  CHECK_FALSE(autoswitch.decide(2, "fc1", "fprop", std::vector{OperandLoss{0, 1e-4}}));
  REQUIRE(autoswitch.decisions().size() == 4);
  CHECK(autoswitch.decisions()[1].worst.underflow_percent == 6);
  CHECK(autoswitch.decisions()[1].high_precision);
  CHECK(autoswitch.decisions()[2].step == 1);
}

TEST_CASE("an operand whose error is NaN switches, wherever it stands") {
  const OperandLoss good{0, 0};
  const OperandLoss broken =
      operand_loss(std::vector<float>{1000}, std::vector<float>{std::nanf("")});
  Autoswitch autoswitch;
  CHECK(autoswitch.decide(0, "fc1", "fprop", std::vector{good, broken}));
  CHECK(autoswitch.decide(0, "fc1", "fprop", std::vector{broken, good}));
  for (const SwitchDecision& told : autoswitch.decisions()) CHECK(std::isnan(told.worst.mse));
}

TEST_CASE("zeros that were zeros before are no underflow, and the error is a mean of squares") {
  const std::vector<float> before{0, 0, 1, 2}, after{0, 0, 1.5F, 2};
  const OperandLoss loss = operand_loss(before, after);
  CHECK(loss.underflow_percent == 0);
  CHECK(loss.mse == 0.0625);
  CHECK_THROWS_AS(operand_loss(before, std::vector<float>{1}), Error);
}

}  // namespace
}  // namespace binade::test::statistics_scalers_test
