// SPDX-License-Identifier: Apache-2.0
//
// Tensors read into summaries, one after the other, on all threads or on a device; or taken from where they were counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/device/device.h"
#include "lib/range/counter.h"
#include "lib/report/named_tensors.h"
#include "lib/report/time.h"

namespace binade {

/// Told after each chunk: bytes done and bytes in all.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

class TensorCounting {
 public:
  /// A device, where there is one, counts the elements of binary32.
  TensorCounting(const std::vector<ErrorColumn>& columns, Device* device, Progress progress);
  TensorCounting(const TensorCounting&) = delete;
  TensorCounting& operator=(const TensorCounting&) = delete;

  /// Announces bytes that will be read.
  void expect(const TensorPlace& tensor) { bytes_ += tensor.info().bytes; }
  void expect(const UpdatePair& pair);

  /// Of what was counted before, those of its squared errors that have a column here; Error where one is missing.
  RangeSummary summary_of(const TensorPlace& tensor);
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
  const TensorFile* held_file_ = nullptr;  ///< open while its tensors are read in turn
  std::shared_ptr<const void> held_;
};

}  // namespace binade
