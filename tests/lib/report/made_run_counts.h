// SPDX-License-Identifier: Apache-2.0
//
// A small run that was counted while it ran, as binade.torch.watch counts one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lib/parallel/parallel.h"
#include "lib/range/counter.h"
#include "lib/report/run_counts.h"

namespace binade::test {

struct MadeRun {
  RunCounts run;
  std::vector<RangeSummary> summaries;

  void add(std::uint64_t step, const std::string& layer, TensorRole role,
           const std::vector<float>& values, std::optional<std::vector<std::uint64_t>> shape = {}) {
    RangeCounter counter(run.columns);
    counter.add(std::as_bytes(std::span(values)), *find_dtype("F32"));
    run.tensors.push_back(
        {{step, layer, role}, *find_dtype("F32"), std::move(shape), values.size()});
    summaries.push_back(counter.finish());
  }
};

inline UpdateCounts updates_of(const std::vector<float>& weights,
                               const std::vector<float>& updates) {
  std::vector<UpdateCounts> slots(thread_count());
  add_updates(slots, {std::as_bytes(std::span(weights)).data(), binary32,
                      std::as_bytes(std::span(updates)).data(), binary32, weights.size()});
  return merged(slots);
}

/// Returns a run of two windows, whose layers have names that suggest other roles and steps than
/// theirs.
inline MadeRun made_run(const std::vector<ErrorColumn>& columns = {}) {
  MadeRun out;
  out.run.columns = columns;
  out.run.watched = {
      .every = 50,
      .windows = {{0, 50, 2, 65536.0}, {100, 150, 2, 32768.0}},
      .notes = {"a note"},
      .first_nonfinite = parse_first_nonfinite(
          R"({"text":"step 150: Inf in fc1","step":150,"found":{"nan":0,"inf":1}})")};
  for (const std::uint64_t step : {0U, 100U}) {
    const std::vector<float> weights{1, 0.5F, -2}, updates{0x1p-20F, 0x1p-3F, 0};
    for (const char* layer : {"fc1.exp_avg", "step7/dW (scaled)"}) {
      out.add(step, layer, TensorRole::weight, weights, std::vector<std::uint64_t>{3});
      out.add(step, layer, TensorRole::d_weight, {0x1p-26F, 1, 0x1p-20F, 2},
              std::vector<std::uint64_t>{2});
      out.add(step, layer, TensorRole::act, {1, 2, 3, 4, 5});
      out.add(step, layer, TensorRole::update, updates, std::vector<std::uint64_t>{3});
      out.run.updates.push_back({step, layer, updates_of(weights, updates)});
    }
  }
  return out;
}

}  // namespace binade::test
