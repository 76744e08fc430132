// SPDX-License-Identifier: Apache-2.0
//
// A run's tensors gathered into series: of a tensor that is alone in its layer, role and step, figures are all that stays.
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
  /// `named`: all tensors that will come, some with a time.
  RunSums(const ReportOptions& options, std::span<const NamedTensor> named);

  /// `place`: of the tensor in `named`; it has a time.
  void add(const TensorReport& tensor, std::size_t place);

  /// Of the tensor's layer and role.
  std::size_t series_of(std::size_t place) const { return series_[place]; }

  /// Everything but loss_scales, updates and unpaired.
  TimeReport finish();

 private:
  void add_to(std::size_t series, const TensorReport& tensor);

  const ReportOptions& options_;
  TimeReport time_;
  std::vector<std::size_t> all_layers_;              ///< by role: series
  std::vector<std::uint32_t> series_;                ///< by place: of the tensor's layer
  std::vector<std::vector<std::uint32_t>> missing_;  ///< tensors of each point that have not come
  /// Points of several tensors of which some have come, by series and point.
  std::map<std::pair<std::size_t, std::size_t>, TensorReport> unfinished_;
};

}  // namespace binade
