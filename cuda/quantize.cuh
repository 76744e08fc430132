// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the quantize kernels. A thread takes groups of four elements, which share one block
// of four random words; the groups of a warp's threads are contiguous.
#pragma once

#include "cuda/event_words.cuh"
#include "cuda/unroll.h"
#include "emulate/fast/quantize.h"

namespace binade {

/// Arguments of one call of `quantize`: n floats, the first of which has index `first` in the
/// stream of random words. The arrays are in the device's memory; `out` may be `in`.
struct QuantizeCall {
  const float* in = nullptr;
  float* out = nullptr;
  Count n = 0;
  Count first = 0;
  fast::QuantizePlan to;
  bool aligned = false;  ///< groups begin at multiples of 16 bytes in both arrays
};

inline constexpr int quantize_threads = 256;  ///< threads in a block
inline constexpr int groups_at_once = 2;      ///< groups that a thread loads before it computes
/// Each thread takes 64 elements at most, so that its counts fit the bytes of fast::QuantizeEvent.
inline constexpr int group_rounds = 8;
inline constexpr int groups_per_block = quantize_threads * groups_at_once * group_rounds;

/// Returns the number of groups that contain an element; the first and the last may be partial.
constexpr Count quantize_groups(const QuantizeCall& call) {
  return call.n == 0 ? 0 : (call.first % 4 + call.n + 3) / 4;
}
/// Returns the number of blocks of threads.
constexpr Count quantize_blocks(const QuantizeCall& call) {
  return (quantize_groups(call) + groups_per_block - 1) / groups_per_block;
}

namespace detail {

/// Returns the four elements from index `at` on; those outside of the array are +0, which has no
/// events. `whole` says that all are inside and aligned. `at` may be negative modulo 2^64.
__device__ inline float4 load_group(const QuantizeCall& call, Count at, bool whole) {
  if (whole) return __ldcs(reinterpret_cast<const float4*>(call.in + at));
  const auto one = [&](Count i) { return at + i < call.n ? call.in[at + i] : 0.0F; };
  return {one(0), one(1), one(2), one(3)};
}

/// Stores the elements that lie inside of the array.
__device__ inline void store_group(const QuantizeCall& call, Count at, bool whole,
                                   const float4& values) {
  if (whole) {
    __stcs(reinterpret_cast<float4*>(call.out + at), values);  // 16 bytes that caches need not keep
    return;
  }
  const auto one = [&](Count i, float value) {
    if (at + i < call.n) call.out[at + i] = value;
  };
  one(0, values.x);
  one(1, values.y);
  one(2, values.z);
  one(3, values.w);
}

/// Returns the quantized value and adds its events. `finite` says that the value is finite.
template <bool finite>
__device__ float quantize_element(float value, std::uint32_t random, const fast::QuantizePlan& to,
                                  std::uint32_t& events) {
  const auto bits = static_cast<std::uint32_t>(bits_of(value));
  const fast::Quantized result = fast::quantized<finite>(bits, random, to);
  events += result.events;
  return std::bit_cast<float>(result.bits);
}

/// Counts a NaN or an infinity in the input; these are rare, so each is added atomically.
__device__ inline void count_special(float value, const fast::QuantizePlan& to, EventWords& words) {
  const auto bits = static_cast<std::uint32_t>(bits_of(value));
  if (!fast::is_nan_or_infinity(bits)) return;
  const bool is_nan = fast::is_nan(bits);
  atomicAdd(is_nan ? &words.nan_in : &words.inf_in, Count{1});
  if (is_nan && fast::nan_is_invalid(bits, to.to.format)) atomicAdd(&words.invalid, Count{1});
}

/// Quantizes the elements of a group.
template <bool finite>
__device__ float4 quantize_values(const float4& x, const std::array<std::uint32_t, 4>& random,
                                  const fast::QuantizePlan& to, std::uint32_t& events) {
  return {quantize_element<finite>(x.x, random[0], to, events),
          quantize_element<finite>(x.y, random[1], to, events),
          quantize_element<finite>(x.z, random[2], to, events),
          quantize_element<finite>(x.w, random[3], to, events)};
}

/// Quantizes the elements of a group and counts NaNs and infinities among them.
__device__ inline float4 quantize_group(const float4& x, const std::array<std::uint32_t, 4>& random,
                                        const fast::QuantizePlan& to, std::uint32_t& events,
                                        EventWords& words) {
  const auto special = [](float value) {
    return fast::is_nan_or_infinity(static_cast<std::uint32_t>(bits_of(value)));
  };
  if (!special(x.x) && !special(x.y) && !special(x.z) && !special(x.w)) {
    return quantize_values<true>(x, random, to, events);
  }
  count_special(x.x, to, words);
  count_special(x.y, to, words);
  count_special(x.z, to, words);
  count_special(x.w, to, words);
  return quantize_values<false>(x, random, to, events);
}

/// Adds the events of a warp's threads to `words`. `events` has four counts of 8 bits; two at a
/// time are summed over the warp in 16 bits each. All threads of the warp must call it.
__device__ inline void add_quantize_events(std::uint32_t events, const fast::QuantizePlan& to,
                                           EventWords& words) {
  const std::uint32_t even = __reduce_add_sync(~0U, events & 0x00FF00FF);
  const std::uint32_t odd = __reduce_add_sync(~0U, events >> 8 & 0x00FF00FF);
  if (threadIdx.x % 32 != 0) return;
  EventCounts sums;
  sums.to_zero = even & 0xFFFF;
  sums.overflow = even >> 16;
  sums.saturated = to.to.attributes.saturation == Saturation::finite ? even >> 16 : 0;
  sums.subnormal = odd & 0xFFFF;
  sums.inexact = odd >> 16;
  add_events(words, sums);
}

}  // namespace detail

/// Quantizes one element in each thread by quantize_one, for quantizers that fast::QuantizePlan
/// does not know.
__device__ inline void quantize_by_definition_body(const QuantizeCall& call, EventWords* total) {
  const Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= call.n) return;
  EventCounts counts;
  const std::uint64_t bits = quantize_one(call.in[i], call.first + i, call.to.to, counts);
  call.out[i] = value_of<float>(bits, call.to.to.format);
  add_events(*total, counts);
}

/// Quantizes the elements of one block of threads. `stochastic` must be call.to.stochastic, and
/// `flushing` true if operands or results are flushed; as template parameters they cost no time.
template <bool stochastic, bool flushing>
__device__ void quantize_body(const QuantizeCall& call, EventWords* total) {
  __shared__ EventWords words;
  if (threadIdx.x == 0) words = EventWords{};
  __syncthreads();
  fast::QuantizePlan to = call.to;
  to.stochastic = stochastic;
  to.flush_results = flushing && to.flush_results;
  to.flushed_below = flushing ? to.flushed_below : 0;
  const Count skipped = call.first % 4;  // elements of the first group before the array begins
  const Count groups = quantize_groups(call);
  std::uint32_t events = 0;
  const Count block = Count{blockIdx.x} * groups_per_block + threadIdx.x;
  for (int round = 0; round < group_rounds; ++round) {
    float4 values[groups_at_once];
    Count at[groups_at_once];
    bool whole[groups_at_once];
    BINADE_UNROLL
    for (int g = 0; g < groups_at_once; ++g) {
      const int row = round * groups_at_once + g;
      at[g] = 4 * (block + static_cast<Count>(row) * quantize_threads) - skipped;
      whole[g] = call.aligned && at[g] + 4 <= call.n;
      values[g] = detail::load_group(call, at[g], whole[g]);
    }
    BINADE_UNROLL
    for (int g = 0; g < groups_at_once; ++g) {
      std::array<std::uint32_t, 4> random{};
      if (stochastic) {
        random = random_words(to.to.seed, to.to.stream, (call.first + at[g]) / 4);
      }
      detail::store_group(call, at[g], whole[g],
                          detail::quantize_group(values[g], random, to, events, words));
    }
    if (at[groups_at_once - 1] + skipped >= 4 * groups) break;
  }
  detail::add_quantize_events(events, to, words);
  __syncthreads();
  if (threadIdx.x == 0) add_events(*total, words);
}

}  // namespace binade
