// SPDX-License-Identifier: Apache-2.0
//
// Runs the trainings of one experiment, one after another: reads the data of each workload once for
// trainings in float and once for those in binary64, reports the progress over all trainings, and
// writes tensors of those in float if the experiment has a dump folder.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "lib/runs/experiment.h"
#include "lib/runs/workloads.h"

namespace binade {

class Trainings {
 public:
  /// `count` is the number of calls of `run` and `run_fp64` to come; `input` must outlive the
  /// object. Throws Error if the dump folder has the tensors of earlier trainings, before any time
  /// is spent on training.
  Trainings(const ExperimentInput& input, std::size_t count);

  /// Trains. `what` names the training in progress reports and, with _ for each blank, its folder
  /// in the dump folder. Throws Error if the workload's data are missing, and as `train` does.
  TrainingLog run(const std::string& what, std::string_view workload, const TrainingRecipe& recipe,
                  Hooks<float> hooks = {});
  /// Trains in binary64 throughout (train<double>); writes no tensors.
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

/// Returns settings with the workload's own optimizer and learning rate, in binary32 (Apex's level
/// O0, amp/opt_level.h).
TrainingRecipe usual_recipe(std::string_view workload, std::int64_t steps, std::uint64_t seed = 0);
/// Returns the settings with another level of amp/opt_level.h and another format; "native" and
/// "binary16" are PyTorch's AMP.
TrainingRecipe in_format(TrainingRecipe recipe, std::string level, std::string format);

/// Returns hooks that call those of `first` and then those of `second`; of two gradient filters
/// only the first is kept.
Hooks<float> both(Hooks<float> first, Hooks<float> second);

}  // namespace binade
