// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a tensor into a RangeSummary, in one pass, on all threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/range/summary.h"

namespace binade {

/// `range_count` of floats, by a device.
using CountFloats = std::function<void(std::span<const float> values, RangeBlock<float>& block)>;

/// Work space for counting, kept from tensor to tensor: per thread dense blocks of binades, and histograms of
/// encodings (formats of up to 16 bits), whose values end in the block of binary32.
class RangeCounter {
 public:
  /// `floats`, where there is one, counts the elements of binary32.
  explicit RangeCounter(std::vector<ErrorColumn> columns, CountFloats floats = {});
  ~RangeCounter();
  RangeCounter(const RangeCounter&) = delete;
  RangeCounter& operator=(const RangeCounter&) = delete;

  /// Adds elements of a floating dtype: whole ones, little-endian, at any alignment. All calls
  /// between two calls of `finish` must have the same dtype.
  void add(std::span<const std::byte> data, const Dtype& dtype);
  /// The same by the calling thread alone, which owns the slot (parallel_for's), so threads may add at the same time.
  void add(std::span<const std::byte> data, const Dtype& dtype, std::size_t slot);

  /// The summary of what was added since the last call.
  RangeSummary finish();

 private:
  struct Slot;
  Slot& slot(std::size_t at);

  CountFloats floats_;
  std::vector<ErrorColumn> columns_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace binade
