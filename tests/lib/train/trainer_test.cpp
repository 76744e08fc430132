// SPDX-License-Identifier: Apache-2.0
//
// Trainings of a small network: what scales, levels and shifts may change, and what they must leave
// as it is in every bit.
#include "lib/train/trainer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "lib/amp/dtype_flow.h"
#include "lib/text/error.h"
#include "tests/lib/train/made_workload.h"
#include "tests/lib/train/trained.h"

namespace binade::trainer_test {
namespace {

using test::check_same;
using test::made_mlp;
using test::recipe_of;
using test::Trained;
using test::trained;

TEST_CASE("training learns: the loss falls in every format") {
  for (const std::string format : {"binary32", "tf32", "binary16", "bfloat16", "e4m3"}) {
    CAPTURE(format);
    TrainingRecipe recipe = recipe_of("native", format);
    recipe.steps = 60;
    const TrainingLog log = train(made_mlp<float>(), recipe);
    CHECK(log.steps.size() == 60);
    CHECK(log.steps[0].loss > 1.2);  // about log 4
    CHECK(log.final_loss() < 0.7);
    CHECK(log.test_accuracy > 0.75);
    CHECK(log.test_rows == 64);
    CHECK(log.parameters == 212);
    CHECK_FALSE(log.not_finite);
    CHECK((log.tally.multiply_adds[0] == (60 * 32 + 64) * (8 * 16 + 16 * 4)));
    // The first layer's input needs no gradient.
    CHECK(log.tally.multiply_adds[1] == 60 * 32 * 16 * 4);
    CHECK(log.tally.multiply_adds[2] == 60 * 32 * (8 * 16 + 16 * 4));
  }
}

TEST_CASE("a run is the same run again, and another seed is another") {
  const TrainingRecipe recipe = recipe_of("native", "binary16");
  const Trained once = trained(recipe);
  check_same(once, trained(recipe));
  TrainingRecipe other = recipe;
  other.seed = 1;
  CHECK(trained(other).weights != once.weights);
}

TEST_CASE("a static scale of 2^k changes no bit where nothing leaves the range") {
  for (const std::string format : {"binary32", "bfloat16"}) {
    CAPTURE(format);
    const Trained plain = trained(recipe_of("native", format, "static:1"));
    for (const std::string scale : {"static:1024", "static:65536", "static:0.125"}) {
      CAPTURE(scale);
      check_same(plain, trained(recipe_of("native", format, scale)));
    }
  }
}

TEST_CASE(
    "a scale in binary16 saves gradients: bits differ, and a scale that is no power of two too") {
  const Trained plain = trained(recipe_of("native", "binary16", "static:1"));
  CHECK(trained(recipe_of("native", "binary16", "static:0.0001220703125")).weights !=
        plain.weights);
  const Trained odd = trained(recipe_of("native", "binary32", "static:1000"));
  CHECK(odd.weights != trained(recipe_of("native", "binary32", "static:1")).weights);
}

TEST_CASE("a disabled scaler is no scaler: static:1 and the policy none give the same bits") {
  for (const std::string format : {"binary32", "binary16", "bfloat16", "e4m3"}) {
    CAPTURE(format);
    const Trained none = trained(recipe_of("native", format, "none"));
    check_same(none, trained(recipe_of("native", format, "static:1")));
    for (const StepLog& step : none.log.steps) CHECK(step.scale == 1);
  }
}

TEST_CASE("a scale beyond binary16 skips every step and leaves the weights") {
  TrainingRecipe recipe = recipe_of("native", "binary16", "static:16777216");
  recipe.skip_overflow = true;
  const Trained got = trained(recipe);
  CHECK(got.log.skipped == 12);
  for (const StepLog& step : got.log.steps) {
    CHECK(step.skipped);
    CHECK(step.scale == 0x1p24);
    CHECK(step.updates.asked == 0);
  }
  std::vector<float> initial;
  const Model<float> model = made_mlp<float>().make(0);
  for (const auto& p : model.parameters) {
    initial.insert(initial.end(), p->value.values.begin(), p->value.values.end());
  }
  CHECK(got.weights == initial);
  CHECK_FALSE(got.log.not_finite);
}

TEST_CASE("a dynamic scale backs off until steps are taken, and grows after its interval") {
  TrainingRecipe recipe = recipe_of("native", "binary16", "torch");
  recipe.scaler_parameters = {{"init_scale", 0x1p22}, {"growth_interval", 3}};
  recipe.steps = 20;
  const TrainingLog log = train(made_mlp<float>(), recipe);
  CHECK(log.steps[0].skipped);
  CHECK(log.skipped < 20);
  std::int64_t good = 0, grown = 0;
  for (std::size_t i = 0; i + 1 < log.steps.size(); ++i) {
    const double ratio = log.steps[i + 1].scale / log.steps[i].scale;
    good = log.steps[i].skipped ? 0 : good + 1;
    CHECK(ratio == (log.steps[i].skipped ? 0.5 : good == 3 ? 2 : 1));
    if (good == 3) good = 0;
    grown += ratio == 2 ? 1 : 0;
  }
  CHECK(grown > 0);
}

TEST_CASE("deepspeed gives up at its floor, and the log says why") {
  TrainingRecipe recipe = recipe_of("native", "binary16", "deepspeed");
  recipe.scaler_parameters["init_scale"] = 4;
  Workload<float> bad = made_mlp<float>();
  const auto make = bad.make;
  bad.make = [make](std::uint64_t seed) {
    Model<float> model = make(seed);
    model.parameters[0]->value.values[0] = std::nanf("");
    return model;
  };
  std::int64_t told = 0;
  Hooks<float> hooks;
  hooks.progress = [&told](std::int64_t done, std::int64_t) { told = done; };
  const TrainingLog log = train(bad, recipe, hooks);
  CHECK(told == recipe.steps);
  REQUIRE(log.gave_up.has_value());
  CHECK(log.gave_up->find("deepspeed gives up at its minimum 1") != std::string::npos);
  // The first inf is the hysteresis'; then 4, 2, 1.
  CHECK(log.steps.size() == 4);
  CHECK(log.skipped == 4);
  CHECK(log.steps.back().scale == 1);
  CHECK(log.not_finite);
}

TEST_CASE("a row of logits with a NaN is no answer, wherever the NaN stands") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  Workload<float> workload = made_mlp<float>();
  workload.make = [&](std::uint64_t seed) {
    Model<float> model = made_mlp<float>().make(seed);
    model.forward = [=](Tape<float>& tape, const Batch<float>&, bool) {
      return tape.constant(
          {{6, 3}, binary32, {3, nan, 1, nan, 3, 1, 3, 2, nan, 3, 2, 1, 3, -inf, 1, inf, 1, 0}});
    };
    return model;
  };
  workload.test_batches = 1;
  workload.test_batch = [](std::size_t) {
    return Batch<float>{.inputs = {}, .tokens = {}, .rows = 6, .targets = {0, 1, 0, 0, 0, 0}};
  };
  TrainingRecipe recipe = recipe_of("O0", "binary32");
  recipe.steps = 0;
  CHECK(train(workload, recipe).test_accuracy == 2.0 / 6);
}

TEST_CASE("a loss_shift is exact in binary32") {
  const Trained plain = trained(recipe_of("O0", "binary32"));
  for (const int shift : {-20, 5, 14, 40}) {
    CAPTURE(shift);
    TrainingRecipe recipe = recipe_of("O0", "binary32");
    recipe.loss_shift = shift;
    check_same(plain, trained(recipe));
    recipe.scaler = "static:1024";
    check_same(plain, trained(recipe));
  }
}

TEST_CASE(
    "a loss_shift in binary16 loses gradients, and a scale of the same size brings them back") {
  TrainingRecipe recipe = recipe_of("native", "binary16", "static:1024");
  const Trained plain = trained(recipe);
  recipe.loss_shift = 20;
  CHECK(trained(recipe).weights != plain.weights);
  recipe.scaler = "static:1073741824";
  check_same(plain, trained(recipe));
}

TEST_CASE("a clip norm holds for unscaled gradients, whatever the scale is") {
  TrainingRecipe recipe = recipe_of("native", "binary32", "static:1");
  const Trained free = trained(recipe);
  recipe.clip_norm = 0.01;
  const Trained clipped = trained(recipe);
  CHECK(clipped.weights != free.weights);
  recipe.scaler = "static:4096";
  check_same(clipped, trained(recipe));
}

TEST_CASE("hooks see every step, and after_step only those taken") {
  TrainingRecipe recipe = recipe_of("native", "binary16", "torch");
  recipe.scaler_parameters["init_scale"] = 0x1p20;
  std::vector<std::int64_t> backward, stepped, progress;
  Hooks<float> hooks;
  hooks.after_backward = [&](const StepView<float>& v) { backward.push_back(v.step); };
  hooks.after_step = [&](const StepView<float>& v) { stepped.push_back(v.step); };
  hooks.progress = [&](std::int64_t done, std::int64_t of) {
    progress.push_back(done);
    CHECK(of == 12);
  };
  std::size_t filtered = 0;
  hooks.gradient_filter = [&](std::vector<float>&) { ++filtered; };
  const TrainingLog log = train(made_mlp<float>(), recipe, hooks);
  CHECK(backward.size() == 12);
  CHECK(progress.back() == 12);
  CHECK(log.skipped > 0);
  CHECK(stepped.size() == 12 - static_cast<std::size_t>(log.skipped));
  CHECK(filtered > 12 * 4);
}

TEST_CASE("the twin in binary64 begins with the same weights and sees the same batches") {
  const TrainingLog twin = train(made_mlp<double>(), recipe_of("native", "binary16"));
  const TrainingLog log = train(made_mlp<float>(), recipe_of("O0", "binary32"));
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    // Rounding errors alone: 12 steps of some hundred operations at 2^-24.
    CHECK(std::abs(twin.steps[i].loss - log.steps[i].loss) < 1e-4);
    CHECK(twin.steps[i].scale == 1);
  }
  CHECK(twin.steps[3].loss != log.steps[3].loss);
}

TEST_CASE("scaler adaptive with caps of 1 is a training without a scale, and skips an overflow") {
  TrainingRecipe recipe = recipe_of("native", "binary16", "adaptive");
  recipe.scaler_parameters = {{"layer_cap", 1}, {"product_cap", 1}};
  check_same(trained(recipe), trained(recipe_of("native", "binary16", "none")));
  recipe.scaler_parameters = {{"init_scale", 0x1p40}, {"product_cap", 0x1p60}};
  const Trained overflown = trained(recipe);
  CHECK(overflown.log.skipped == recipe.steps);
  CHECK_FALSE(overflown.log.not_finite);
}

TEST_CASE("scaler adaptive brings back gradients that binary16 loses on their way") {
  TrainingRecipe recipe = recipe_of("native", "binary16", "none");
  recipe.loss_shift = 16;
  recipe.steps = 40;
  const TrainingLog lost = trained(recipe).log;
  recipe.scaler = "adaptive";
  const TrainingLog found = trained(recipe).log;
  CHECK(found.final_loss() < lost.final_loss());
  REQUIRE(found.layer_scales.size() == 1);  // the first layer's input wants no gradient
  CHECK(found.layer_scales[0].product > 1);
}

TEST_CASE(
    "autoswitch sends FP8 products to BF16: all of them by a threshold of 0, none by a large one") {
  TrainingRecipe recipe = recipe_of("native", "e4m3");
  const Trained fp8 = trained(recipe), bf16 = trained(recipe_of("native", "bfloat16"));
  recipe.autoswitch = AutoswitchOptions{.underflow_percent = 100, .mse = 1e30};
  const Trained never = trained(recipe);
  check_same(never, fp8);
  recipe.autoswitch = AutoswitchOptions{.underflow_percent = 100, .mse = -1};
  const Trained always = trained(recipe);
  CHECK(always.weights == bf16.weights);
  CHECK(fp8.weights != bf16.weights);
  std::uint64_t products = 0, switched = 0;
  for (const SwitchTally& tally : always.log.switches) {
    products += tally.products;
    switched += tally.switched;
  }
  CHECK(products ==
        static_cast<std::uint64_t>(recipe.steps) * 5);  // two layers; no dgrad of the first
  CHECK(switched == products);
  CHECK(always.log.switches[0].layer == "fc1");
}

}  // namespace
}  // namespace binade::trainer_test
