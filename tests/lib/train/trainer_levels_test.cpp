// SPDX-License-Identifier: Apache-2.0
//
// What the levels of a training keep in which dtype, and which recipes contradict themselves.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "lib/amp/dtype_flow.h"
#include "lib/text/error.h"
#include "lib/train/trainer.h"
#include "tests/lib/train/made_workload.h"
#include "tests/lib/train/trained.h"

namespace binade::trainer_levels_test {
namespace {

using test::check_same;
using test::made_cnn;
using test::made_mlp;
using test::recipe_of;
using test::Trained;
using test::trained;

TEST_CASE("levels say what weights are kept in; O2 keeps those of norms in binary32") {
  const auto dtypes = [](const std::string& level) {
    return trained(made_cnn<float>(), recipe_of(level, level == "O0" ? "binary32" : "binary16"))
        .dtypes;
  };
  for (const std::string level : {"O0", "O1", "native"}) {
    CAPTURE(level);
    for (const auto& [name, dtype] : dtypes(level)) CHECK(dtype == binary32);
  }
  std::size_t norms = 0;
  for (const auto& parameter : dtypes("O2")) {
    const auto& [name, dtype] = parameter;
    CAPTURE(parameter.first);
    const bool norm = name.starts_with("bn");
    norms += norm ? 1 : 0;
    CHECK(dtype == (norm ? binary32 : binary16));
  }
  CHECK(norms == 4);
  for (const auto& [name, dtype] : dtypes("O3")) CHECK(dtype == binary16);
}

TEST_CASE("in binary32 all levels compute the same") {
  const Trained plain = trained(recipe_of("O0", "binary32", "none"));
  for (const std::string level : {"O1", "O2", "O3", "native"}) {
    CAPTURE(level);
    check_same(plain, trained(recipe_of(level, "binary32", "none")));
  }
}

TEST_CASE("each level of binary16 rounds in other places") {
  std::vector<std::vector<float>> seen;
  for (const std::string level : {"native", "O2", "O3", "half"}) {
    const Trained got = trained(recipe_of(level, "binary16", "static:128"));
    CHECK_FALSE(got.log.not_finite);
    for (const auto& other : seen) CHECK(got.weights != other);
    seen.push_back(got.weights);
  }
  // Apex's lists say the same of these ops.
  CHECK(trained(recipe_of("O1", "binary16", "static:128")).weights == seen[0]);
  // Weights of O2, O3 and half lie on the grid.
  for (std::size_t i = 1; i < seen.size(); ++i) {
    std::vector<float> rounded = seen[i];
    round_to(binary16, std::span(rounded));
    CHECK(rounded == seen[i]);
  }
}

TEST_CASE("master weights keep what weights of binary16 lose") {
  TrainingRecipe recipe = recipe_of("O2", "binary16", "static:128");
  recipe.optimizer = {.lr = 1e-4};
  const TrainingLog with = train(made_mlp<float>(), recipe);
  recipe.master_weights = false;
  const TrainingLog without = train(made_mlp<float>(), recipe);
  CHECK(with.updates().not_shown > with.updates().asked / 2);  // most do not move the rounded copy
  CHECK(with.updates().lost < without.updates().lost);
  CHECK(without.updates().not_shown == 0);
  CHECK(with.steps.back().loss < without.steps.back().loss);
}

TEST_CASE("recipes that contradict themselves are refused") {
  const auto refused = [](const TrainingRecipe& recipe, const char* text) {
    CHECK_THROWS_WITH_AS(check_recipe(recipe), text, Error);
    CHECK_THROWS_WITH_AS(train(made_mlp<float>(), recipe), text, Error);
  };
  refused(recipe_of("O0", "binary16"),
          "level O0 computes in binary32: format binary16 needs another level");
  TrainingRecipe shifted = recipe_of("O3", "binary16");
  shifted.loss_shift = 3;
  refused(shifted,
          "loss_shift is undone in binary32, but level O3 without master weights has gradients of "
          "binary16: leave loss_shift out, or choose another level");
  for (const TrainingRecipe& recipe :
       {recipe_of("O4", "binary16"), recipe_of("native", "binary17"),
        recipe_of("native", "binary16", "nobody"), recipe_of("native", "binary16", "static:x"),
        recipe_of("native", "binary16", "static:1e300")}) {
    CHECK_THROWS_AS(check_recipe(recipe), Error);
    CHECK_THROWS_AS(train(made_mlp<float>(), recipe), Error);
  }
}

TEST_CASE("a loss_shift needs gradients in binary32: masters or weights") {
  for (const std::string level : {"O0", "O1", "O2", "O3", "native"}) {
    for (const std::string format : {"binary32", "tf32", "binary16", "bfloat16"}) {
      for (const std::optional<bool> masters : {std::optional<bool>(), {false}, {true}}) {
        TrainingRecipe recipe = recipe_of(level, format);
        recipe.loss_shift = 2;
        recipe.master_weights = masters;
        recipe.steps = 1;
        const bool narrow = format == "binary16" || format == "bfloat16";
        const bool low = level == "O2" || level == "O3";
        const bool wrong = narrow && (level == "O0" || (low && !masters.value_or(level == "O2")));
        CAPTURE(level);
        CAPTURE(format);
        if (wrong) {
          CHECK_THROWS_AS(check_recipe(recipe), Error);
          continue;
        }
        check_recipe(recipe);
        bool all_binary32 = true;
        Hooks<float> hooks;
        hooks.after_backward = [&](const StepView<float>& view) {
          Optimizer<float> optimizer = view.optimizer;  // what the loop's own will give
          for (const auto& g : optimizer.gradients()) all_binary32 &= g.dtype == binary32;
        };
        CHECK(train(made_mlp<float>(), recipe, hooks).steps.size() == 1);
        CHECK(all_binary32);
      }
    }
  }
}

TEST_CASE("O1 runs by Apex's lists, native by PyTorch's") {
  const auto policy_of = [](const char* level, std::string_view op) {
    TrainingRecipe recipe = recipe_of(level, "binary16");
    recipe.steps = 1;
    const DtypeFlow flow;
    train(made_mlp<float>(), recipe);
    const auto row = std::ranges::find(flow.rows(), op, [](const FlowRow& r) { return r.call.op; });
    REQUIRE(row != flow.rows().end());
    return row->call.policy;
  };
  CHECK(policy_of("O1", "log_softmax") == CastPolicy::fp32);  // F.log_softmax is patched
  CHECK(policy_of("native", "log_softmax") == CastPolicy::fp32_set_opt_dtype);
  CHECK(policy_of("O1", "linear") == CastPolicy::lower_precision_fp);
  CHECK(policy_of("O2", "linear") == CastPolicy::unlisted);
}

TEST_CASE(
    "Apex casts a cast model's output to binary32; only level half has a loss in the format") {
  for (const std::string level : {"O2", "O3", "half"}) {
    CAPTURE(level);
    TrainingRecipe recipe = recipe_of(level, "binary16");
    recipe.steps = 1;
    const DtypeFlow flow;
    train(made_mlp<float>(), recipe);
    for (const FlowRow& row : flow.rows()) {
      if (row.call.op == "nll_loss") CHECK(row.call.run == (level == "half" ? binary16 : binary32));
      if (row.call.op == "linear") CHECK(row.call.run == binary16);
    }
  }
}

}  // namespace
}  // namespace binade::trainer_levels_test
