// SPDX-License-Identifier: Apache-2.0
//
// The loss scaler of a training's loop: which one a recipe and its level have, and how a step uses
// it.
#include "lib/train/step_scaler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "lib/amp/loss_scaler.h"
#include "lib/text/error.h"
#include "tests/lib/io/files.h"

namespace binade::step_scaler_test {
namespace {

using Gradients = StepScaler<float>::Gradients;

StepScaler<float> scaler_of(const std::string& level, const std::string& name = "",
                            std::optional<double> init_scale = {}) {
  TrainingRecipe recipe;
  recipe.level = level;
  recipe.scaler = name;
  if (init_scale) recipe.scaler_parameters["init_scale"] = *init_scale;
  return {recipe, opt_level(level)};
}

/// Runs one step, and returns whether the optimizer was called.
bool step(StepScaler<float>& scaler, std::vector<float>& values, const Format& dtype = binary32) {
  const Gradients gradients{{dtype, values}};
  bool called = false;
  scaler.unscale(gradients);
  const bool said = scaler.step(gradients, [&called] { called = true; });
  CHECK(said == called);
  scaler.update();
  return called;
}

TEST_CASE("a recipe without a scaler has its level's") {
  CHECK(scaler_of("O0").scale() == 1);
  CHECK(scaler_of("O1").scale() == 65536);
  CHECK(scaler_of("O2").scale() == 65536);
  CHECK(scaler_of("O3").scale() == 1);
  CHECK(scaler_of("native").scale() == 65536);
  CHECK(scaler_of("native", "static:1024").scale() == 1024);
  CHECK(scaler_of("native", "jmp").scale() == 32768);
  CHECK(scaler_of("native", "torch", 8.0).scale() == 8);
  CHECK(scaler_of("native", "none").scale() == 1);
  CHECK_THROWS_AS(scaler_of("native", "nobody"), Error);
}

TEST_CASE("every scaler divides gradients by its scale, exactly for powers of two") {
  for (const std::string name : {"torch", "apex", "megatron", "histogram", "static:65536"}) {
    CAPTURE(name);
    StepScaler<float> scaler =
        scaler_of("native", name, name == "static:65536" ? std::nullopt : std::optional(65536.0));
    std::vector<float> g{65536, -3, 0};
    CHECK(step(scaler, g));
    CHECK(g == std::vector<float>{1, -3 * 0x1p-16F, 0});
  }
}

TEST_CASE("an inf makes dynamic scales skip and back off; static ones do not look") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& row : std::vector<std::pair<std::string, bool>>{
           {"torch", true}, {"log_max", true}, {"static:8", false}, {"none", false}}) {
    const auto& [name, skips] = row;
    CAPTURE(row.first);
    StepScaler<float> scaler = scaler_of("native", name);
    const double before = scaler.scale();
    std::vector<float> g{1, inf};
    CHECK(step(scaler, g) != skips);
    CHECK((scaler.scale() < before) == (name == "torch"));
    std::vector<float> good{1, 2};
    CHECK(step(scaler, good));
  }
}

TEST_CASE("gradients of binary16 are unscaled onto its grid") {
  for (const std::string name : {"torch", "histogram"}) {
    CAPTURE(name);
    StepScaler<float> scaler = scaler_of("O3", name, 65536.0);
    std::vector<float> g{0x1.8p-8F, 1};
    CHECK(step(scaler, g, binary16));
    CHECK(g == std::vector<float>{0x1p-23F, 0x1p-16F});  // 1.5 · 2^-24 is a tie, to even
  }
}

TEST_CASE("a static scale that looks skips and stays") {
  TrainingRecipe recipe;
  recipe.scaler = "static:65536";
  recipe.skip_overflow = true;
  StepScaler<float> scaler(recipe, opt_level("native"));
  std::vector<float> g{std::numeric_limits<float>::quiet_NaN()};
  CHECK_FALSE(step(scaler, g));
  CHECK(scaler.scale() == 65536);
}

TEST_CASE("a static scale that does not look steps on") {
  TrainingRecipe recipe;
  recipe.scaler = "static:65536";
  StepScaler<float> scaler(recipe, opt_level("native"));
  std::vector<float> g{std::numeric_limits<float>::quiet_NaN()};
  CHECK(step(scaler, g));
  CHECK(scaler.scale() == 65536);
}

TEST_CASE("a scaler takes what it looks at") {
  const auto takes = [](const std::string& level, const std::string& scaler) {
    TrainingRecipe recipe;
    recipe.level = level;
    recipe.scaler = scaler;
    const ScalerTakes out = scaler_takes(recipe);
    const auto has = [&out](std::string_view name) {
      return std::ranges::find(out.parameters, name) != out.parameters.end();
    };
    return std::array{has("init_scale"), has("growth_interval"), has("hysteresis"), has("edge"),
                      out.skip_overflow};
  };
  CHECK(takes("native", "") == std::array{true, true, true, false, false});
  CHECK(takes("O0", "") == std::array{true, false, false, false, true});
  CHECK(takes("O3", "megatron") == std::array{true, true, true, false, false});
  CHECK(takes("native", "static") == std::array{true, false, false, false, true});
  CHECK(takes("native", "static:8") == std::array{false, false, false, false, true});
  CHECK(takes("native", "none") == std::array{false, false, false, false, false});
  CHECK(takes("native", "log_max") == std::array{false, false, false, false, false});
  CHECK(takes("native", "histogram") == std::array{true, false, false, true, false});
}

TEST_CASE("only binary16 has a scaler unless one is named") {
  const std::map<std::string, double> begins{
      {"binary16", 65536}, {"bfloat16", 1}, {"tf32", 1}, {"e4m3", 1}};
  for (const auto& row : begins) {
    CAPTURE(row.first);
    TrainingRecipe recipe;
    recipe.level = "native";
    recipe.products.format = row.first;
    CHECK(StepScaler<float>(recipe, opt_level("native")).scale() == row.second);
    recipe.scaler = "torch";
    CHECK(StepScaler<float>(recipe, opt_level("native")).scale() == 65536);
  }
}

TEST_CASE("every parameter of a scaler changes what it does") {
  // Overflow iff the scale passes 2^10, and now and then; of scalers with statistics once.
  const auto scales = [](const std::string& name, const ScalerParameters& parameters) {
    TrainingRecipe recipe;
    recipe.scaler = name;
    recipe.scaler_parameters = {{"init_scale", 64}, {"growth_interval", 3}};
    const bool is_statistical = name == "log_max" || name == "histogram";
    if (name == "log_max") recipe.scaler_parameters.clear();
    if (name == "histogram") recipe.scaler_parameters = {{"init_scale", 64}};
    for (const auto& [key, value] : parameters) recipe.scaler_parameters[key] = value;
    StepScaler<float> scaler(recipe, opt_level("native"));
    std::vector<double> out;
    for (int i = 1; i < 200; ++i) {
      const float inf = std::numeric_limits<float>::infinity();
      const bool overflows =
          is_statistical ? i == 150 : scaler.scale() > 1024 || i % 17 == 0 || (i > 60 && i < 90);
      const float amax = overflows ? inf : static_cast<float>(scaler.scale() * 0.01 * (1 + i % 5));
      std::vector<float> g{amax, 0.5F, 0.25F, 0};
      step(scaler, g);
      out.push_back(scaler.scale());
    }
    return out;
  };
  const auto differs = [&](const std::string& name, const ScalerParameters& base, std::string key,
                           double value) {
    ScalerParameters more = base;
    more[key] = value;
    CAPTURE(name);
    CAPTURE(key);
    CHECK(scales(name, base) != scales(name, more));
  };
  differs("torch", {}, "init_scale", 128);
  differs("torch", {}, "growth_factor", 4);
  differs("torch", {}, "backoff_factor", 0.25);
  differs("torch", {}, "growth_interval", 7);
  differs("torch", {}, "hysteresis", 2);
  differs("torch", {}, "min_scale", 16);
  differs("torch", {}, "max_scale", 512);
  differs("deepspeed", {{"min_scale", 0x1p-100}}, "consecutive_hysteresis", 1);
  differs("fairseq", {{"min_scale", 0x1p-100}}, "tolerance", 0.5);
  differs("fairseq", {{"min_scale", 0x1p-100}}, "threshold", 16);
  differs("log_max", {}, "min_scale", 1 << 20);
  differs("log_max", {}, "max_scale", 256);
  differs("log_max", {}, "log_max", 3);
  differs("log_max", {}, "mean_decay", 0.5);
  differs("log_max", {}, "moment_decay", 0.5);
  differs("log_max", {}, "deviations", 1);
  differs("histogram", {}, "growth_factor", 4);
  differs("histogram", {}, "edge", 1e-4);
  differs("histogram", {}, "upper_share", 0.3);
  differs("histogram", {}, "period", 3);
}

TEST_CASE(
    "raise_at_min_scale ends a training that another policy would go on with, and the reverse") {
  const auto ends = [](const char* name, double raises) {
    TrainingRecipe recipe;
    recipe.scaler = name;
    recipe.scaler_parameters = {
        {"init_scale", 1}, {"min_scale", 1}, {"raise_at_min_scale", raises}};
    StepScaler<float> scaler(recipe, opt_level("native"));
    try {
      for (int i = 0; i < 5; ++i) {
        std::vector<float> g{std::numeric_limits<float>::infinity()};
        step(scaler, g);
      }
    } catch (const ScalerGaveUp&) {
      return true;
    }
    return false;
  };
  CHECK(ends("torch", 1));
  CHECK_FALSE(ends("torch", 0));
  CHECK(ends("deepspeed", 1));
  CHECK_FALSE(ends("deepspeed", 0));
}

TEST_CASE("parameters that contradict each other are refused") {
  const auto error = [](const char* name, const ScalerParameters& parameters) {
    TrainingRecipe recipe;
    recipe.scaler = name;
    recipe.scaler_parameters = parameters;
    return test::error_of([&] { scaler_takes(recipe); });
  };
  CHECK(test::has(error("torch", {{"min_scale", 8}, {"max_scale", 4}}), "above max_scale"));
  CHECK(test::has(error("torch", {{"raise_at_min_scale", 1}}), "needs a min_scale"));
  CHECK(test::has(error("torch", {{"backoff_factor", 1}}), "never backs off"));
  CHECK(test::has(error("torch", {{"growth_factor", 1}}), "growth_factor 1"));
  CHECK(error("torch", {{"init_scale", 4}, {"min_scale", 4}, {"max_scale", 8}}).empty());
}

TEST_CASE("every name of a scaler is one, and another is refused with all of them") {
  TrainingRecipe recipe;
  recipe.scaler = "megatrn";
  const std::string error = test::error_of([&] { scaler_takes(recipe); });
  CHECK(error.starts_with("scaler megatrn: there is none; did you mean megatron?"));
  CHECK(step_scaler_names().size() == loss_scale_policies().size() + 3);
  for (const std::string_view name : step_scaler_names()) {
    CAPTURE(name);
    CHECK(error.find(name) != std::string::npos);
    recipe.scaler = name == "static:SCALE" ? "static:8" : name;
    scaler_takes(recipe);
    StepScaler<float> scaler(recipe, opt_level("native"));
    CHECK(scaler.scale() >= 1);
  }
}

TEST_CASE("a policy at its floor gives up by an exception of its own") {
  StepScaler<float> scaler = scaler_of("native", "deepspeed", 1.0);
  std::vector<float> g{std::numeric_limits<float>::quiet_NaN()};
  CHECK_FALSE(step(scaler, g));  // its hysteresis
  const Gradients gradients{{binary32, g}};
  scaler.unscale(gradients);
  CHECK_FALSE(scaler.step(gradients, [] {}));
  CHECK_THROWS_AS(scaler.update(), ScalerGaveUp);
  std::vector<float> good{1};
  CHECK(step(scaler, good));  // a caller that catches the Error can go on
}

TEST_CASE("log_max and histogram see the gradients that they are to see") {
  StepScaler<float> log_max = scaler_of("native", "log_max");
  StepScaler<float> histogram = scaler_of("native", "histogram", 65536.0);
  LogMaxScaler by_hand{LogMaxOptions{}};
  for (int i = 0; i < 50; ++i) {
    std::vector<float> g{1e-3F, -3e-3F, 0};
    by_hand.update(false, 3e-3F * (1 / by_hand.scale()));  // amax, unscaled
    step(log_max, g);
    CHECK(log_max.scale() == static_cast<double>(by_hand.scale()));
    g.assign(64, i < 40 ? 1e-3F : 60000.0F);  // scaled: none above 65504/16, then all
    step(histogram, g);
    CHECK(histogram.scale() == std::ldexp(1.0, 16 + (i < 40 ? i + 1 : 79 - i)));
  }
  CHECK(by_hand.scale() != LogMaxScaler{LogMaxOptions{}}.scale());
}

TEST_CASE("the twin in binary64 has no scale and takes every step") {
  TrainingRecipe recipe;
  StepScaler<double> scaler(recipe, opt_level("native"));
  std::vector<double> g{std::numeric_limits<double>::infinity()};
  const StepScaler<double>::Gradients gradients{{binary64, g}};
  CHECK(scaler.scale() == 1);
  scaler.unscale(gradients);
  bool called = false;
  CHECK(scaler.step(gradients, [&called] { called = true; }));
  CHECK(called);
  scaler.update();
}

}  // namespace
}  // namespace binade::step_scaler_test
