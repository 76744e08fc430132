// SPDX-License-Identifier: Apache-2.0
//
// The report along a training run: what becomes of each layer's tensors from step to step, the loss
// scale each step asks for, and the updates that 16-bit weights would not see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/report/format_report.h"
#include "lib/report/named_tensors.h"
#include "lib/report/update_ratio.h"

namespace binade {

struct TensorReport;

/// The values of one step; those of several layers are merged, exactly.
struct TimePoint {
  std::uint64_t step = 0;
  RangeSummary summary;
  std::vector<FormatReport> formats;
};

struct TimeSeries {
  std::optional<std::string> layer;  ///< nothing: all layers together
  TensorRole role = {};
  std::vector<TimePoint> points;  ///< by rising step
};

/// The joint loss scale of a step's gradients, dAct and dW.
struct StepScale {
  std::uint64_t step = 0;
  LossScale scale;
};

struct UpdatePoint {
  std::uint64_t step = 0;
  UpdateCounts counts;
};

struct UpdateSeries {
  std::optional<std::string> layer;  ///< nothing: all layers together
  std::vector<UpdatePoint> points;
};

/// An update that could not be held against its weight.
struct UnpairedUpdate {
  std::string name, reason;
};

struct TimeReport {
  std::vector<std::uint64_t> steps;    ///< rising
  std::vector<std::string> layers;     ///< in the order of the files; numbers in their own
  std::vector<TimeSeries> series;      ///< all layers first, then by layer; each by role
  std::vector<StepScale> loss_scales;  ///< steps with gradients
  std::vector<UpdateSeries> updates;   ///< all layers first, then by layer; steps with both tensors
  std::vector<UnpairedUpdate> unpaired;
};

/// A weight and the update of its layer and step: the n-th of the files with the n-th.
struct UpdatePair {
  TensorTime time;
  TensorPlace weight, update;
};
struct UpdatePairs {
  std::vector<UpdatePair> pairs;
  std::vector<UnpairedUpdate> unpaired;
};

/// Error where the names tell at least two steps and two files hold a tensor of one name: they are of two
/// runs, which would be merged.
void refuse_mixed_runs(std::span<const NamedTensor> tensors);

/// Nothing unless the names tell at least two steps.
UpdatePairs update_pairs(std::span<const NamedTensor> tensors);

/// Whether at least two steps are told.
bool has_time_axis(const std::vector<TensorReport>& tensors);

/// Steps whose gradients hold NaN or Inf, rising: what their largest value would be is not known, so no
/// loss scale can be told of them.
std::vector<std::uint64_t> steps_not_finite(const std::vector<TensorReport>& tensors);

/// Everything but updates and unpaired.
TimeReport time_report(const std::vector<TensorReport>& tensors, const ReportOptions& options);

/// The rest: `count` is asked once for each pair.
void add_updates(TimeReport& report, const UpdatePairs& updates,
                 const std::function<UpdateCounts(const UpdatePair&)>& count);

}  // namespace binade
