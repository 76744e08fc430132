// SPDX-License-Identifier: Apache-2.0
//
// The trainings of one experiment, one after another: data are read once, progress is told over all of
// them, tensors are dumped where the reader asked for them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "lib/study/experiment.h"
#include "lib/study/workloads.h"

namespace binade {

class Trainings {
 public:
  /// `count`: how many calls of `run` there will be. Error where trainings were dumped into the input's
  /// folder before, so that none runs in vain.
  Trainings(const ExperimentInput& input, std::size_t count);

  /// `what` names the run in progress and as folder of its dump.
  TrainingLog run(const std::string& what, std::string_view workload, const TrainingRecipe& recipe,
                  Hooks<float> hooks = {});
  /// The same in binary64 throughout.
  TrainingLog run_fp64(const std::string& what, std::string_view workload,
                       const TrainingRecipe& recipe);

 private:
  template <std::floating_point T>
  TrainingLog run_one(const std::string& what,
                      std::map<std::string, Workload<T>, std::less<>>& known, std::string_view name,
                      const TrainingRecipe& recipe, Hooks<T> hooks);

  const ExperimentInput& input_;
  std::size_t count_, done_ = 0;
  std::map<std::string, Workload<float>, std::less<>> workloads_;
  std::map<std::string, Workload<double>, std::less<>> twins_;
};

/// The workload's own recipe: its optimizer and lr, in binary32 (level O0).
TrainingRecipe usual_recipe(std::string_view workload, std::int64_t steps, std::uint64_t seed = 0);
/// Level and format of it; "native"/"binary16" is PyTorch's AMP.
TrainingRecipe in_format(TrainingRecipe recipe, std::string level, std::string format);

/// The hooks of both, one after the other.
Hooks<float> both(Hooks<float> first, Hooks<float> second);

}  // namespace binade
