// SPDX-License-Identifier: Apache-2.0
//
// The report along a training run: what becomes of each layer's tensors from step to step, the loss
// scale that each step needs, and the updates that weights in 16 bits would not see.
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

/// The values of one step, those of several layers merged exactly. A run has a point for every
/// step, layer and role, so a point holds figures and no summary.
struct TimePoint {
  std::uint64_t step = 0;
  std::uint64_t values = 0, zeros = 0, nan = 0, inf = 0;  ///< `values` are all, the others included
  /// Values with 2^-27 <= |x| < 2^-24, which binary16 rounds to zero or to its smallest subnormal.
  std::uint64_t band_27_24 = 0;
  /// The exponents e of the binades [2^e, 2^(e+1)) of the smallest and the largest finite non-zero
  /// magnitude; not set if there is none.
  std::optional<std::int16_t> min_binade, max_binade;
  /// For the gradients of a layer: the smallest and the largest loss scale at which
  /// format_of_scale() holds them, as exponents of two; no scale does if s_min exceeds s_max. They
  /// are not set for all layers together, whose scales are TimeReport::loss_scales.
  std::optional<std::int16_t> s_min_log2, s_max_log2;
  std::vector<FormatFigures> formats;  ///< in the order of TimeReport::formats

  std::uint64_t nonzero() const { return values - zeros - nan - inf; }  ///< finite and non-zero
  /// Returns the share of the L2 norm that becomes zero in a format, given its index in `formats`;
  /// nothing if there is no finite non-zero value.
  std::optional<double> lost_l2(std::size_t format) const {
    return nonzero() == 0 ? std::nullopt : std::optional(formats[format].lost);
  }
};

/// The tensors of one role, of one layer or of all layers together.
struct TimeSeries {
  std::optional<std::string> layer;  ///< empty for all layers together
  TensorRole role = {};
  std::vector<TimePoint> points;  ///< by rising step
  /// All steps merged, exactly, and the last step by itself, both analysed. They are named "fc1
  /// dW", or "dW" for all layers together, belong to no single file, and have a dtype and a shape
  /// if all of their tensors have the same.
  TensorReport run, last;
};

/// The joint loss scale of the gradients of a step, dAct and dW.
struct StepScale {
  std::uint64_t step = 0;
  LossScale scale;
  /// The scale by which the run multiplied its loss, if its files state it.
  std::optional<double> used = {};
  std::vector<LossScale> in_formats = {};  ///< the scale for each format of the options
};

struct UpdatePoint {
  std::uint64_t step = 0;
  UpdateCounts counts;
};

struct UpdateSeries {
  std::optional<std::string> layer;  ///< empty for all layers together
  std::vector<UpdatePoint> points;
};

/// An update that could not be compared with its weight.
struct UnpairedUpdate {
  std::string name, reason;
};

struct TimeReport {
  std::vector<NamedFormat> formats;  ///< in which points have figures: those of the options
  std::vector<std::uint64_t> steps;  ///< rising
  /// In the order of the files; sorted with digits compared as numbers if that order is
  /// alphabetical.
  std::vector<std::string> layers;
  std::vector<TimeSeries> series;      ///< all layers first, then by layer; each by role
  std::vector<StepScale> loss_scales;  ///< one for each step with gradients
  /// All layers first, then by layer; each has the steps with both weights and updates.
  std::vector<UpdateSeries> updates;
  std::vector<UnpairedUpdate> unpaired;
};

/// A weight and the update of the same layer and step. If the files have several, the n-th weight
/// belongs to the n-th update.
struct UpdatePair {
  TensorTime time;
  TensorPlace weight, update;
};
/// The updates of a layer and step that a counted run (run_counts.h) has counted.
struct CountedUpdates {
  std::uint64_t step = 0;
  std::string layer;
  const UpdateCounts* counts = nullptr;  ///< held by the run
};
struct UpdatePairs {
  std::vector<UpdatePair> pairs;
  std::vector<CountedUpdates> counted;
  std::vector<UnpairedUpdate> unpaired;
};

/// Returns whether names say at least two different steps.
bool has_time_axis(std::span<const NamedTensor> tensors);

/// Throws Error if names say at least two steps and two files hold a tensor of the same name that
/// has a step: the files belong to two runs, which must not be merged.
void refuse_mixed_runs(std::span<const NamedTensor> tensors);

/// Returns the pairs of weights and updates; none unless names say at least two steps. Tensors that
/// were counted before make no pairs.
UpdatePairs update_pairs(std::span<const NamedTensor> tensors);

/// Fills updates and unpaired; `count` is called once for each pair.
void add_updates(TimeReport& report, const UpdatePairs& updates,
                 const std::function<UpdateCounts(const UpdatePair&)>& count);

}  // namespace binade
