// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the range_count kernels (segments of significands and error columns:
// emulate/range_count.h). For a significand m, f is m - 2^23. A block of threads keeps in shared
// memory a count and the sum of f per binade and segment, and the sum of f^2 per binade; the sums
// of m and m^2 follow from these. CUDA adds 32 bits in shared memory in one instruction, but 64
// bits in a loop, so a sum is a pair of words, the upper of which is touched only when the lower
// one wraps or what is added has more than 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cuda/count.h"
#include "emulate/range_count.h"

namespace binade {

inline constexpr int range_threads = 256;  ///< threads in a block
inline constexpr int range_binades = RangeBlock<float>::binades;
inline constexpr int range_bins = range_binades * segments;
/// The most values that a block of threads takes, so that a sum of squares fits in two words:
/// (2^24 - 1)^2 · 2^16 < 2^64.
inline constexpr Count most_range_values = Count{1} << 16;

/// Sums per binade, each low + 2^32 · high.
struct RangeTotals {
  Count low[range_binades], high[range_binades];
};

/// The totals of all blocks of threads, in the device's memory. `smallest` and `largest` are
/// magnitudes of finite non-zero values as encodings. `smallest` begins with all bits set, the rest
/// as zeros.
struct RangeWords {
  Count zeros, nan, inf, negative;
  unsigned smallest, largest;
  Count count[range_bins];
  Count sum[range_bins];                 ///< sums of f
  RangeTotals squares;                   ///< sums of f^2
  RangeTotals error[max_error_columns];  ///< sums of squared rounding errors
};
/// Returns the size in bytes of the part of RangeWords that so many error columns use.
constexpr std::size_t bytes_of_range_words(std::size_t columns) {
  return offsetof(RangeWords, error) + columns * sizeof(RangeTotals);
}

/// Arguments of one call: n floats in the device's memory.
struct RangeCall {
  const float* in = nullptr;
  Count n = 0;
  /// Values that a block takes: a multiple of 4, at most most_range_values.
  Count per_block = most_range_values;
  int columns = 0;
  ErrorColumn column[max_error_columns] = {};
  bool aligned = false;  ///< the array begins at a multiple of 16 bytes
};
/// Returns the arguments for n floats; there are at most max_error_columns columns.
inline RangeCall range_call(const float* in, Count n, std::span<const ErrorColumn> columns) {
  RangeCall call{.in = in, .n = n, .columns = static_cast<int>(columns.size())};
  // About 1024 blocks, to occupy all multiprocessors; blocks of small arrays take 4096 values, and
  // large arrays have more blocks.
  const Count even = n / 1024 / 4 * 4;
  call.per_block = even < 4096 ? 4096 : even > most_range_values ? most_range_values : even;
  for (std::size_t c = 0; c < columns.size(); ++c) call.column[c] = columns[c];
  call.aligned = reinterpret_cast<std::uintptr_t>(in) % 16 == 0;
  return call;
}
/// Returns the number of blocks of threads.
inline unsigned range_blocks(const RangeCall& call) {
  return static_cast<unsigned>((call.n + call.per_block - 1) / call.per_block);
}

namespace detail {

/// `size` sums in two words of shared memory each. All threads of a block must call clear; any
/// thread may call add.
template <int size>
struct WideSums {
  unsigned low[size], high[size];

  __device__ void clear() {
    for (int i = static_cast<int>(threadIdx.x); i < size; i += range_threads) low[i] = high[i] = 0;
  }
  __device__ void add(int i, std::uint64_t value) {
    const auto lower = static_cast<unsigned>(value);
    const unsigned before = atomicAdd(&low[i], lower);
    const auto upper = static_cast<unsigned>(value >> 32) + (before + lower < before ? 1 : 0);
    if (upper != 0) atomicAdd(&high[i], upper);
  }
};

/// Adds atomically, unless the value is 0.
__device__ inline void add_nonzero(Count& to, Count value) {
  if (value != 0) atomicAdd(&to, value);
}

/// The place of a finite non-zero magnitude: its row in a RangeBlock<float>, and f.
struct RangePlace {
  int row = 0;
  std::uint32_t f = 0;
};
__device__ inline RangePlace range_place(std::uint32_t magnitude) {
  if (magnitude >= 0x00800000) {
    return {static_cast<int>(magnitude >> 23) + 22, magnitude & 0x007FFFFF};
  }
  const int width = 32 - leading_zeros(magnitude);
  return {width - 1, (magnitude << (24 - width)) & 0x007FFFFF};
}

/// Calls f(bits) for the values that this thread takes of its block's.
template <class F>
__device__ void for_each_value(const RangeCall& call, const F& f) {
  const Count begin = blockIdx.x * call.per_block;
  const Count end = begin + call.per_block < call.n ? begin + call.per_block : call.n;
  const auto bits = [](float x) { return static_cast<std::uint32_t>(bits_of(x)); };
  for (Count i = begin + 4 * threadIdx.x; i < end; i += 4 * range_threads) {
    if (call.aligned && i + 4 <= end) {
      const float4 x = __ldcs(reinterpret_cast<const float4*>(call.in + i));
      f(bits(x.x));
      f(bits(x.y));
      f(bits(x.z));
      f(bits(x.w));
    } else {
      for (Count j = i; j < end && j < i + 4; ++j) f(bits(call.in[j]));
    }
  }
}

}  // namespace detail

/// Counts the values of one block of threads and adds the counts to `total`.
__device__ inline void range_count_body(const RangeCall& call, RangeWords* total) {
  __shared__ unsigned count[range_bins];
  __shared__ detail::WideSums<range_bins> sum;
  __shared__ detail::WideSums<range_binades> squares;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < range_bins; i += range_threads) count[i] = 0;
  sum.clear();
  squares.clear();
  __syncthreads();
  unsigned zeros = 0, nan = 0, inf = 0, negative = 0, smallest = ~0U, largest = 0;
  detail::for_each_value(call, [&](std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    nan += magnitude > 0x7F800000 ? 1 : 0;
    inf += magnitude == 0x7F800000 ? 1 : 0;
    zeros += magnitude == 0 ? 1 : 0;
    negative += magnitude <= 0x7F800000 ? bits >> 31 : 0;
    if (magnitude >= 0x7F800000 || magnitude == 0) return;
    smallest = magnitude < smallest ? magnitude : smallest;
    largest = magnitude > largest ? magnitude : largest;
    const detail::RangePlace place = detail::range_place(magnitude);
    const int bin = place.row * segments + segment_of<23>(place.f | 0x00800000U);
    atomicAdd(&count[bin], 1U);
    sum.add(bin, place.f);
    squares.add(place.row, std::uint64_t{place.f} * place.f);
  });
  smallest = __reduce_min_sync(~0U, smallest);
  largest = __reduce_max_sync(~0U, largest);
  zeros = __reduce_add_sync(~0U, zeros);
  nan = __reduce_add_sync(~0U, nan);
  inf = __reduce_add_sync(~0U, inf);
  negative = __reduce_add_sync(~0U, negative);
  if (thread % 32 == 0) {
    atomicMin(&total->smallest, smallest);
    atomicMax(&total->largest, largest);
    detail::add_nonzero(total->zeros, zeros);
    detail::add_nonzero(total->nan, nan);
    detail::add_nonzero(total->inf, inf);
    detail::add_nonzero(total->negative, negative);
  }
  __syncthreads();
  for (int i = thread; i < range_bins; i += range_threads) {
    if (count[i] == 0) continue;
    atomicAdd(&total->count[i], Count{count[i]});
    detail::add_nonzero(total->sum[i], Count{sum.high[i]} << 32 | sum.low[i]);
  }
  for (int i = thread; i < range_binades; i += range_threads) {
    detail::add_nonzero(total->squares.low[i], squares.low[i]);
    detail::add_nonzero(total->squares.high[i], squares.high[i]);
  }
}

/// Sums the squared rounding errors of one block's values in error column blockIdx.y.
__device__ inline void range_error_body(const RangeCall& call, RangeWords* total) {
  __shared__ detail::WideSums<range_binades> errors;
  __shared__ unsigned cap[range_binades], mask[range_binades];
  const int thread = static_cast<int>(threadIdx.x);
  const int column = static_cast<int>(blockIdx.y);
  errors.clear();
  for (int i = thread; i < range_binades; i += range_threads) {
    const ErrorRule rule = error_rule(call.column[column], RangeBlock<float>::lowest + i, 24);
    // A significand has 24 bits, so a cap of more than 32 bits has the effect of 2^32 - 1, and a
    // mask of more than 31 that of 2^31 - 1. A mask of 0 means that nothing is rounded.
    cap[i] = rule.cap < 0xFFFFFFFF ? static_cast<unsigned>(rule.cap) : 0xFFFFFFFF;
    mask[i] = rule.mask < 0x7FFFFFFF ? static_cast<unsigned>(rule.mask) : 0x7FFFFFFF;
  }
  __syncthreads();
  detail::for_each_value(call, [&](std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude >= 0x7F800000 || magnitude == 0) return;
    const detail::RangePlace place = detail::range_place(magnitude);
    const ErrorRule rule{cap[place.row], mask[place.row],
                         mask[place.row] != 0 ? std::uint64_t{mask[place.row]} + 1 : 0};
    const std::uint64_t error = rule.error(place.f | 0x00800000U);
    if (error != 0) errors.add(place.row, error * error);
  });
  __syncthreads();
  for (int i = thread; i < range_binades; i += range_threads) {
    detail::add_nonzero(total->error[column].low[i], errors.low[i]);
    detail::add_nonzero(total->error[column].high[i], errors.high[i]);
  }
}

/// Adds the totals of a device to a block of the host, with the error columns that the block has.
inline void add_range_words(const RangeWords& words, RangeBlock<float>& block) {
  block.zeros += words.zeros;
  block.nan += words.nan;
  block.inf += words.inf;
  block.negative += words.negative;
  if (words.largest != 0) {
    block.smallest = words.smallest < block.smallest ? words.smallest : block.smallest;
    block.largest = words.largest > block.largest ? words.largest : block.largest;
  }
  const auto wide = [](const RangeTotals& of, std::size_t i) {
    return (uint128{of.high[i]} << 32) + of.low[i];
  };
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    RangeBlock<float>::Row& row = block.rows[i];
    Count count = 0;
    Count sum = 0;
    for (std::size_t s = 0; s < std::size_t{segments}; ++s) {
      const std::size_t bin = i * segments + s;
      row.count[s] += words.count[bin];
      row.sum[s] += (words.count[bin] << 23) + words.sum[bin];
      count += words.count[bin];
      sum += words.sum[bin];
    }
    // (2^23 + f)^2 = 2^46 + 2^24 f + f^2
    row.squares += (uint128{count} << 46) + (uint128{sum} << 24) + wide(words.squares, i);
    for (std::size_t c = 0; c < static_cast<std::size_t>(block.columns); ++c) {
      row.squared_error[c] += wide(words.error[c], i);
    }
  }
}

}  // namespace binade
