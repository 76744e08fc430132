// SPDX-License-Identifier: Apache-2.0
//
// Trainings of the small made network that leave their log, their weights and the dtypes of their parameters.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/train/trainer.h"
#include "tests/lib/train/made_workload.h"

namespace binade::test {

inline TrainingRecipe recipe_of(std::string level, std::string format, std::string scaler = "") {
  TrainingRecipe recipe;
  recipe.level = std::move(level);
  recipe.products.format = std::move(format);
  recipe.scaler = std::move(scaler);
  recipe.optimizer = {.lr = 0.25, .momentum = 0.9};
  recipe.steps = 12;
  return recipe;
}

inline std::vector<double> losses(const TrainingLog& log) {
  std::vector<double> out;
  for (const StepLog& step : log.steps) out.push_back(step.loss);
  out.push_back(log.test_loss);
  out.push_back(log.test_accuracy);
  return out;
}

/// The log of a training, its weights as the last step left them, parameter after parameter, and each parameter's dtype.
struct Trained {
  TrainingLog log;
  std::vector<float> weights;
  std::map<std::string, Format> dtypes;
};

inline Trained trained(const Workload<float>& workload, const TrainingRecipe& recipe) {
  Trained out;
  Hooks<float> hooks;
  hooks.after_backward = [&out](const StepView<float>& view) {
    for (const auto& p : view.model.parameters) out.dtypes[p->name] = p->value.dtype;
  };
  // The model is alive until train returns; progress comes after the step.
  const Model<float>* model = nullptr;
  const auto inner = hooks.after_backward;
  hooks.after_backward = [&model, inner](const StepView<float>& view) {
    model = &view.model;
    inner(view);
  };
  hooks.progress = [&](std::int64_t done, std::int64_t of) {
    if (done != of) return;
    for (const auto& p : model->parameters) {
      out.weights.insert(out.weights.end(), p->value.values.begin(), p->value.values.end());
    }
  };
  out.log = train(workload, recipe, hooks);
  return out;
}

inline Trained trained(const TrainingRecipe& recipe) { return trained(made_mlp<float>(), recipe); }

inline void check_same(const Trained& a, const Trained& b) {
  CHECK(losses(a.log) == losses(b.log));
  CHECK(a.weights.size() == 8 * 16 + 16 + 16 * 4 + 4);
  CHECK(a.weights == b.weights);
}

}  // namespace binade::test
