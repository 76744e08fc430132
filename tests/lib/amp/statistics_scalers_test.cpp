// SPDX-License-Identifier: Apache-2.0
//
// The loss scalers that look at gradients: LogMax, the two-bin histogram, scales for each layer,
// autoswitch, and the statistics that they take.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "lib/amp/autoswitch.h"
#include "lib/amp/histogram_scaler.h"
#include "lib/amp/layer_scaler.h"
#include "lib/amp/log_max_scaler.h"
#include "lib/amp/step_statistics.h"
#include "lib/text/error.h"
#include "lib/train/tensor.h"

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

/// Returns a, -a, a, …, rounded to binary16.
std::vector<float> alternating(float a) {
  std::vector<float> out(64);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i % 2 == 0 ? a : -a;
  round_to(binary16, std::span(out));
  return out;
}

// The figures are those of an independent implementation of the ada-loss code.
TEST_CASE("adaptive layer scales are ada-loss's, at every product of scales so far") {
  struct Row {
    float a, b;
    std::size_t terms;
    std::array<float, 4> scales;  ///< at products 1, 128, 1024, 4096
  };
  const std::array<Row, 3> rows{{{1e-6F, 1e-2F, 64, {16, 8, 1, 0.25F}},
                                 {1e-4F, 1e-2F, 64, {8, 8, 1, 0.25F}},
                                 {1e-3F, 1e-1F, 256, {1, 1, 1, 0.25F}}}};
  for (const Row& row : rows) {
    CAPTURE(row.a);
    std::size_t at = 0;
    for (const float product : {1.0F, 128.0F, 1024.0F, 4096.0F}) {
      CAPTURE(product);
      AdaptiveLayerScaler scaler;
      CHECK(scaler.next("fc", alternating(row.a), alternating(row.b), row.terms, product) ==
            row.scales[at++]);
    }
  }
  AdaptiveLayerScaler scaler;
  const std::vector<float> large(8, 60000.0F), ones(8, 1.0F);
  CHECK(scaler.next("fc", large, ones, 64, 1) == 0x1p-6F);
  CHECK(scaler.scales()[0].product == 0x1p-6F);
}

TEST_CASE("the share that may underflow decides where the caps do not") {
  const auto scale = [](double share) {
    AdaptiveLayerScaler scaler({.underflow_share = share, .layer_cap = 1e30, .product_cap = 1e30});
    return scaler.next("fc", alternating(1e-6F), alternating(1e-2F), 64, 1);
  };
  CHECK(scale(1e-3) == 512);   // 835.015
  CHECK(scale(1e-4) == 8192);  // ten times as much
  CHECK(scale(0.4) == 1);
}

TEST_CASE("a layer looks at its statistics once an interval, and keeps to the caps always") {
  AdaptiveLayerScaler scaler({.interval = 2});
  const std::vector<float> small = alternating(1e-6F), large = alternating(1),
                           w = alternating(1e-2F);
  CHECK(scaler.next("a", small, w, 64, 1) == 16);
  CHECK(scaler.next("a", large, w, 64, 512) == 2);  // what was wanted, under this product's cap
  CHECK(scaler.next("a", large, w, 64, 1) == 1);
  CHECK(scaler.next("b", small, w, 64, 1) == 16);  // each layer counts for itself
  REQUIRE(scaler.scales().size() == 2);
  CHECK(scaler.scales()[0].layer == "a");
  CHECK(scaler.scales()[1].product == 16);
}

TEST_CASE("the loss's own scale counts as a product, zeros and infinities ask for nothing") {
  AdaptiveLayerScaler scaler({.init_scale = 256});
  const std::vector<float> small = alternating(1e-6F), w = alternating(1e-2F);
  CHECK(scaler.next("a", small, w, 64, 1) == 4);  // 1024 / 256
  CHECK(scaler.scales()[0].product == 1024);
  CHECK(scaler.next("b", std::vector<float>(8, 0.0F), w, 64, 1) == 1);
  CHECK(scaler.next("c", std::vector<float>{1, inf}, w, 64, 1) == 1);
  CHECK_THROWS_AS(AdaptiveLayerScaler({.interval = 0}), Error);
}

TEST_CASE("gradients of two scales meet at the larger one that overflows nothing") {
  CHECK(common_scale(4, 1, 16, 1, 65504) == 16);
  CHECK(common_scale(4, 20000, 16, 1, 65504) == 4);        // 20000 · 4 at 16
  CHECK(common_scale(16, 20000, 4, 16380, 65504) == 4);    // 16380 · 4
  CHECK(common_scale(4, 60000, 16, 1000000, 65504) == 1);  // 62500 fits at 1, and at 2 does not
  CHECK(common_scale(2, 1e9F, 1, 1e9F, 65504) == 0.0625F);
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
  CHECK_FALSE(autoswitch.decide("fc1", "fprop", std::vector{five, five}));
  CHECK(autoswitch.decide("fc1", "dgrad", std::vector{five, six}));
  CHECK(autoswitch.decide("fc1", "fprop", std::vector{OperandLoss{0, 1.1e-4}}));
  CHECK_FALSE(autoswitch.decide("fc1", "fprop", std::vector{OperandLoss{0, 1e-4}}));
  REQUIRE(autoswitch.tallies().size() == 2);
  const SwitchTally &fprop = autoswitch.tallies()[0], &dgrad = autoswitch.tallies()[1];
  CHECK(fprop.products == 3);
  CHECK(fprop.switched == 1);
  CHECK(fprop.worst.mse == 1.1e-4);
  CHECK(dgrad.worst.underflow_percent == 6);
  CHECK(dgrad.switched == 1);
}

TEST_CASE("an operand whose error is NaN switches, wherever it stands") {
  const OperandLoss good{0, 0};
  const OperandLoss broken =
      operand_loss(std::vector<float>{1000}, std::vector<float>{std::nanf("")});
  Autoswitch autoswitch;
  CHECK(autoswitch.decide("fc1", "fprop", std::vector{good, broken}));
  CHECK(autoswitch.decide("fc1", "fprop", std::vector{broken, good}));
  CHECK_FALSE(autoswitch.decide("fc1", "fprop", std::vector{good, good}));
  CHECK(autoswitch.tallies()[0].switched == 2);
  CHECK(std::isnan(autoswitch.tallies()[0].worst.mse));
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
