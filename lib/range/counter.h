// SPDX-License-Identifier: Apache-2.0
//
// Counts the elements of a tensor, given as bytes, into a RangeSummary, in one pass and on all
// threads. What is counted is defined in emulate/range_count.h.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/range/summary.h"

namespace binade {

/// A function that does what `range_count` (emulate/range_count.h) does, on a device (lib/device).
using CountFloats = std::function<void(std::span<const float> values, RangeBlock<float>& block)>;

/// Work space for counting that is kept from tensor to tensor. Each thread has a dense block of
/// binades and, for large arrays in formats of up to 16 bits, a histogram of encodings whose values
/// are added to the block of binary32 in the end.
class RangeCounter {
 public:
  /// If `floats` is given, it counts the elements of binary32 that the first add() gets, in place
  /// of the CPU; elements that are added to a slot are always counted on the CPU. There may be
  /// max_error_columns columns at most.
  explicit RangeCounter(std::vector<ErrorColumn> columns, CountFloats floats = {});
  ~RangeCounter();
  RangeCounter(const RangeCounter&) = delete;
  RangeCounter& operator=(const RangeCounter&) = delete;

  /// Adds elements of a floating dtype: whole ones, little-endian, at any alignment. All calls
  /// between two calls of `finish` must have the same dtype.
  void add(std::span<const std::byte> data, const Dtype& dtype);
  /// Adds elements on the calling thread only, to the counts number `slot`, which no other thread
  /// may use meanwhile (parallel_for gives each thread a slot). So threads may call this at the
  /// same time.
  void add(std::span<const std::byte> data, const Dtype& dtype, std::size_t slot);

  /// Returns the summary of what was added since the last call.
  RangeSummary finish();

 private:
  struct Slot;
  Slot& slot(std::size_t at);

  CountFloats floats_;
  std::vector<ErrorColumn> columns_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace binade
