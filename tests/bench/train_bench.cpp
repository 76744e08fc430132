// SPDX-License-Identifier: Apache-2.0
//
// Trainings of a few steps as `binade train` runs them, in each format and, in turns with its
// steps, in binary32. The kernels are those of the level in use (BINADE_ISA).
//
//     ms_per_step    processor time of a step
//     of_binary32    that time divided by the time of a step in binary32
#include <benchmark/benchmark.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/parallel/parallel.h"
#include "lib/runs/train_settings.h"
#include "lib/runs/workloads.h"
#include "tests/bench/clock.h"
#include "tests/bench/registered.h"

namespace binade::bench {
namespace {

constexpr int steps = 20;

double seconds_of_training(const std::string& name, const std::string& format) {
  const nlohmann::json settings{{"workload", name}, {"format", format}, {"steps", steps}};
  const TrainSettings parsed = train_settings(settings);
  const Workload<float> data = workload<float>(name, BINADE_SOURCE_ROOT "/experiments/data");
  const double start = process_seconds();
  benchmark::DoNotOptimize(train(data, parsed.recipe));
  return process_seconds() - start;
}

void train_in(benchmark::State& state, const std::string& name, const std::string& format) {
  if (const std::string why = missing_data(name); !why.empty()) {
    state.SkipWithError(why.c_str());
    return;
  }
  std::vector<double> own, reference;
  for (auto _ : state) {
    own.push_back(seconds_of_training(name, format));
    reference.push_back(seconds_of_training(name, "binary32"));
  }
  const auto median = [](std::vector<double>& x) {
    std::ranges::nth_element(x, x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
    return x[x.size() / 2];
  };
  const double seconds = median(own);
  state.counters["ms_per_step"] = 1e3 * seconds / steps;
  state.counters["of_binary32"] = seconds / median(reference);
}

}  // namespace

void add_training() {
  std::string level;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    if (&kernels(static_cast<Level>(at)) == &fastest_kernels()) level = levels[at].name;
  }
  for (const char* name : {"digits_mlp", "fashion_cnn", "char_transformer"}) {
    for (const char* format : {"binary32", "binary16", "bfloat16", "tf32", "e4m3"}) {
      const std::string full = std::string("train/") + name + "/" + format + "/" + level;
      add_benchmark(full, benchmark::kMillisecond,
                    [name, format](benchmark::State& state) { train_in(state, name, format); });
    }
  }
}

}  // namespace binade::bench
