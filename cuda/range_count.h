// SPDX-License-Identifier: Apache-2.0
//
// `range_count` of emulate/range_count.h on a GPU. It gives the same integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emulate/range_count.h"

namespace binade {

struct RangeWords;  // range_count.cuh

/// Starts counting n floats in the current GPU's memory and adds the counts to `words`, which are
/// there, too, and were cleared for as many columns or more. It runs in the order of `stream`, a
/// handle of CUDA, where 0 is the default stream. Throws Error if the launch fails.
void launch_range_count(const float* in, std::size_t n, std::span<const ErrorColumn> columns,
                        RangeWords* words, std::uintptr_t stream = 0);
/// Clears `words` for so many error columns, in the order of `stream`. Throws Error if CUDA fails.
void clear_range_words(RangeWords* words, std::size_t columns, std::uintptr_t stream = 0);

/// Adds floats in the host's memory to a block that was reset with these columns. Between two
/// resets a block takes at most RangeBlock<float>::capacity values. Throws Error if CUDA fails.
void range_count_on_gpu(std::span<const float> in, std::span<const ErrorColumn> columns,
                        RangeBlock<float>& block);

/// Adds n floats that lie in a GPU's memory to a block that was reset with these columns, in the
/// order of one of that GPU's streams, for which it waits. Throws Error if CUDA fails or, unless n
/// is 0, the address is not in a GPU's memory. The object keeps its work space on each GPU between
/// calls; concurrent calls wait for each other.
class RangeCountInPlace {
 public:
  RangeCountInPlace();
  ~RangeCountInPlace();
  void operator()(const float* in, std::size_t n, std::span<const ErrorColumn> columns,
                  std::uintptr_t stream, RangeBlock<float>& block);

 private:
  struct OnGpus;
  std::unique_ptr<OnGpus> on_gpus_;
};

/// Does what range_count_on_gpu does by means of RangeCountInPlace, on a stream made for the call.
void range_count_on_own_stream(std::span<const float> in, std::span<const ErrorColumn> columns,
                               RangeBlock<float>& block);

}  // namespace binade
