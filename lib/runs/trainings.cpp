// SPDX-License-Identifier: Apache-2.0
//
// Runs the trainings of an experiment, and counts them to report progress.
#include "lib/runs/trainings.h"

#include <algorithm>

#include "lib/runs/tensor_dump.h"

namespace binade {

Trainings::Trainings(const ExperimentInput& input, std::size_t count)
    : input_(input), count_(count) {
  if (!input.dump_folder.empty()) refuse_dumps_below(input.dump_folder);
}

template <std::floating_point T>
TrainingLog Trainings::run_one(const std::string& what,
                               std::map<std::string, Workload<T>, std::less<>>& known,
                               std::string_view name, const TrainingRecipe& recipe,
                               Hooks<T> hooks) {
  auto found = known.find(name);
  if (found == known.end()) {
    found = known.emplace(std::string(name), workload<T>(name, input_.data_folder)).first;
  }
  const auto inner = hooks.progress;
  hooks.progress = [this, &what, inner](std::int64_t done, std::int64_t of) {
    if (inner) inner(done, of);
    if (!input_.progress) return;
    const double share = static_cast<double>(done) / static_cast<double>(of);
    input_.progress((static_cast<double>(done_) + share) / static_cast<double>(count_), what);
  };
  TrainingLog log = train(found->second, recipe, hooks);
  ++done_;
  return log;
}

TrainingLog Trainings::run(const std::string& what, std::string_view workload,
                           const TrainingRecipe& recipe, Hooks<float> hooks) {
  if (!input_.dump_folder.empty()) {
    std::string folder = input_.dump_folder + "/" + what;
    std::ranges::replace(folder, ' ', '_');
    const std::int64_t every = std::max<std::int64_t>(1, recipe.steps / 10);
    hooks = both(std::move(hooks), dump_hooks(folder, every, recipe.steps));
  }
  return run_one(what, workloads_, workload, recipe, std::move(hooks));
}

TrainingLog Trainings::run_fp64(const std::string& what, std::string_view workload,
                                const TrainingRecipe& recipe) {
  return run_one(what, twins_, workload, recipe, Hooks<double>{});
}

TrainingRecipe usual_recipe(std::string_view workload, std::int64_t steps, std::uint64_t seed) {
  TrainingRecipe recipe;
  recipe.level = "O0";
  recipe.products.format = "binary32";
  recipe.optimizer.name = workload_row(workload).optimizer;
  recipe.optimizer.lr = workload_row(workload).lr;
  recipe.optimizer.momentum = 0.9;
  recipe.steps = steps;
  recipe.seed = seed;
  return recipe;
}

TrainingRecipe in_format(TrainingRecipe recipe, std::string level, std::string format) {
  recipe.level = std::move(level);
  recipe.products.format = std::move(format);
  return recipe;
}

Hooks<float> both(Hooks<float> first, Hooks<float> second) {
  const auto join = []<class... Of>(std::function<void(Of...)> a, std::function<void(Of...)> b) {
    if (!a) return b;
    if (!b) return a;
    return std::function<void(Of...)>([a, b](Of... x) {
      a(x...);
      b(x...);
    });
  };
  return {.after_backward = join(std::move(first.after_backward), std::move(second.after_backward)),
          .after_step = join(std::move(first.after_step), std::move(second.after_step)),
          .gradient_filter = first.gradient_filter ? first.gradient_filter : second.gradient_filter,
          .progress = join(std::move(first.progress), std::move(second.progress)),
          .logged = join(std::move(first.logged), std::move(second.logged))};
}

}  // namespace binade
