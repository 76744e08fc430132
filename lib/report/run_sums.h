// SPDX-License-Identifier: Apache-2.0
//
// Gathers the tensors of a run into series. Beside the sums over all steps (TimeSeries::run) and
// over the last step, only figures are kept of a tensor that is the only one of its layer, role and
// step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "lib/report/named_tensors.h"
#include "lib/report/time.h"

namespace binade {

class RunSums {
 public:
  /// `named` are all tensors of the report, of which those with a time must be added. The options
  /// must outlive this object.
  RunSums(const ReportOptions& options, std::span<const NamedTensor> named);

  /// Adds a tensor, which has a time; `place` is its index in `named`.
  void add(const TensorReport& tensor, std::size_t place);

  /// Returns the index of the series of the tensor's layer and role; `place` is as above.
  std::size_t series_of(std::size_t place) const { return series_[place]; }

  /// Returns everything but loss_scales, updates and unpaired.
  TimeReport finish();

 private:
  void add_to(std::size_t series, const TensorReport& tensor);

  const ReportOptions& options_;
  TimeReport time_;
  std::vector<std::size_t> all_layers_;  ///< by role, the index of its series
  std::vector<std::uint32_t> series_;    ///< by place, the index of the layer's series
  /// By series and point, the number of its tensors that were not added yet.
  std::vector<std::vector<std::uint32_t>> missing_;
  /// The points, by series and point, of which some tensors were added and some were not.
  std::map<std::pair<std::size_t, std::size_t>, TensorReport> unfinished_;
};

}  // namespace binade
