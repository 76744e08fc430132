// SPDX-License-Identifier: Apache-2.0
//
// Counts tensors into summaries, one after another, on all threads or on a device; or takes
// summaries that were counted before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lib/device/device.h"
#include "lib/range/counter.h"
#include "lib/report/named_tensors.h"
#include "lib/report/time.h"
#include "lib/text/error.h"

namespace binade {

/// A function that is called after each chunk with the bytes done and the bytes in all.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// The Error of a summary that lacks a column of squared errors.
Error without_column(std::string_view name, const ErrorColumn& column);

class TensorCounting {
 public:
  /// If a device is given, it counts the elements of binary32; the CPU counts all others.
  TensorCounting(const std::vector<ErrorColumn>& columns, Device* device, Progress progress);
  TensorCounting(const TensorCounting&) = delete;
  TensorCounting& operator=(const TensorCounting&) = delete;

  /// Announces a tensor that will be read, so that the progress knows the bytes in all.
  void expect(const TensorPlace& tensor) { bytes_ += tensor.info().bytes; }
  void expect(const UpdatePair& pair);

  /// Returns the summary of a tensor. Of one that was counted before, only the columns given here
  /// are kept; throws Error if one of them is missing.
  RangeSummary summary_of(const TensorPlace& tensor);
  /// Returns the counts of the updates of a pair.
  UpdateCounts counts_of(const UpdatePair& pair);

 private:
  RangeSummary with_columns(RangeSummary summary, const std::string& name) const;
  void advance(std::uint64_t bytes);

  Device* device_;
  std::vector<ErrorColumn> columns_;
  RangeCounter counter_;
  Progress progress_;
  std::uint64_t done_ = 0, bytes_ = 0;
  std::mutex advancing_;
  const TensorFile* held_file_ = nullptr;  ///< kept open while its tensors are read in turn
  std::shared_ptr<const void> held_;
};

}  // namespace binade
