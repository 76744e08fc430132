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
#include "lib/report/tensor_report.h"
#include "lib/report/update_ratio.h"

namespace binade {

/// The values of one step; those of several layers are merged, exactly. A run has a point for every tensor, so it
/// holds figures and no summary.
struct TimePoint {
  std::uint64_t step = 0;
  std::uint64_t values = 0, zeros = 0, nan = 0, inf = 0;
  std::uint64_t band_27_24 =
      0;  ///< 2^-27 <= |x| < 2^-24: in binary16 all or nothing of a subnormal
  std::optional<std::int16_t> min_binade,
      max_binade;  ///< of the smallest and the largest magnitude
  /// Of a layer's gradients: between which loss scales they live in binary16. Nothing for all layers together,
  /// whose scales are TimeReport::loss_scales.
  std::optional<std::int16_t> s_min_log2, s_max_log2;
  std::vector<FormatFigures> formats;  ///< in the order of TimeReport::formats

  std::uint64_t nonzero() const { return values - zeros - nan - inf; }  ///< finite and non-zero
  /// Share of the L2 norm that becomes zero; nothing without a finite non-zero value.
  std::optional<double> lost_l2(std::size_t format) const {
    return nonzero() == 0 ? std::nullopt : std::optional(formats[format].lost);
  }
};

/// Tensors of one role, of one layer or of all.
struct TimeSeries {
  std::optional<std::string> layer;  ///< nothing: all layers together
  TensorRole role = {};
  std::vector<TimePoint> points;  ///< by rising step
  /// All steps merged, exactly, and the last step alone, both analysed. They are named "fc1 dW", or "dW" for all
  /// layers together, belong to no one file, and have a dtype and a shape where all their tensors have the same.
  TensorReport run, last;
};

/// The joint loss scale of a step's gradients, dAct and dW.
struct StepScale {
  std::uint64_t step = 0;
  LossScale scale;
  std::optional<double> used =
      {};  ///< that the run's loss was multiplied by, where its files say it
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
  /// What points tell of: the options' formats, and after them binary16 if it is none of these.
  std::vector<NamedFormat> formats;
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
/// The updates of a counted run's layer and step.
struct CountedUpdates {
  std::uint64_t step = 0;
  std::string layer;
  const UpdateCounts* counts = nullptr;
};
struct UpdatePairs {
  std::vector<UpdatePair> pairs;
  std::vector<CountedUpdates> counted;
  std::vector<UnpairedUpdate> unpaired;
};

/// Whether at least two steps are told.
bool has_time_axis(std::span<const NamedTensor> tensors);

/// Error where the names tell at least two steps and two files hold a tensor of one name: they are of two
/// runs, which would be merged.
void refuse_mixed_runs(std::span<const NamedTensor> tensors);

/// Nothing unless at least two steps are told. Summaries make no pairs.
UpdatePairs update_pairs(std::span<const NamedTensor> tensors);

/// Where binary16 stands among a point's formats.
std::size_t place_of_binary16(const TimeReport& time);

/// Fills updates and unpaired; `count` is asked once for each pair.
void add_updates(TimeReport& report, const UpdatePairs& updates,
                 const std::function<UpdateCounts(const UpdatePair&)>& count);

}  // namespace binade
