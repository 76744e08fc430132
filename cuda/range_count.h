// SPDX-License-Identifier: Apache-2.0
//
// `range_count` of emulate/range_count.h on a GPU: the same integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emulate/range_count.h"

namespace binade {

struct RangeWords;

/// Starts it on n floats of the current GPU, after what its stream has to do (CUDA's handle; 0: the default one); adds to
/// `words`, there too, which `clear_range_words` made for as many columns or more.
void launch_range_count(const float* in, std::size_t n, std::span<const ErrorColumn> columns,
                        RangeWords* words, std::uintptr_t stream = 0);
void clear_range_words(RangeWords* words, std::size_t columns, std::uintptr_t stream = 0);

/// Adds floats of the host to a block that was reset; at most its `capacity` between two resets.
void range_count_on_gpu(std::span<const float> in, std::span<const ErrorColumn> columns,
                        RangeBlock<float>& block);

/// The same of floats that lie in the memory of a GPU, in the order of a stream of that GPU, for which it waits. Error where the
/// address is not of such memory. What it needs on each GPU is kept; threads wait for each other.
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

/// `range_count_on_gpu` by way of that, on a stream that is made for it.
void range_count_on_own_stream(std::span<const float> in, std::span<const ErrorColumn> columns,
                               RangeBlock<float>& block);

}  // namespace binade
