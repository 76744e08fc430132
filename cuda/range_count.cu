// SPDX-License-Identifier: Apache-2.0
//
// The range_count kernels and their launches.
#include "cuda/range_count.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "cuda/device_array.h"
#include "cuda/range_count.cuh"

namespace binade {
namespace {

__global__ void __launch_bounds__(range_threads)
    range_count_kernel(const __grid_constant__ RangeCall call, RangeWords* total) {
  range_count_body(call, total);
}

__global__ void __launch_bounds__(range_threads)
    range_error_kernel(const __grid_constant__ RangeCall call, RangeWords* total) {
  range_error_body(call, total);
}

std::string counting(std::size_t n) {
  return "kernel range_count, " + std::to_string(n) + " values";
}

}  // namespace

void clear_range_words(RangeWords* words) {
  const std::string what = "clearing the sums of range_count";
  must(cudaMemset(words, 0, sizeof *words), "cudaMemset", what);
  must(cudaMemset(&words->smallest, 0xFF, sizeof words->smallest), "cudaMemset", what);
}

void launch_range_count(const float* in, std::size_t n, std::span<const ErrorColumn> columns,
                        RangeWords* words) {
  if (n == 0) return;
  // Blocks for all multiprocessors first, then long ones.
  const Count per_block = std::clamp<Count>(n / 1024 / 4 * 4, 4096, most_range_values);
  RangeCall call{in, n, per_block, static_cast<int>(columns.size())};
  std::copy(columns.begin(), columns.end(), call.column);
  call.aligned = at_16_bytes(in);
  const auto blocks = static_cast<unsigned>((n + per_block - 1) / per_block);
  range_count_kernel<<<blocks, range_threads>>>(call, words);
  must(cudaGetLastError(), "the launch", counting(n));
  if (columns.empty()) return;
  range_error_kernel<<<dim3(blocks, static_cast<unsigned>(columns.size())), range_threads>>>(call,
                                                                                             words);
  must(cudaGetLastError(), "the launch of the error columns", counting(n));
}

void range_count_on_gpu(std::span<const float> in, std::span<const ErrorColumn> columns,
                        RangeBlock<float>& block) {
  const DeviceArray<float> values(in, counting(in.size()));
  const DeviceArray<RangeWords> total(1, counting(in.size()));
  clear_range_words(total.get());
  launch_range_count(values.get(), in.size(), columns, total.get());
  const auto words = std::make_unique<RangeWords>();
  total.copy_to(std::span(words.get(), 1));
  add_range_words(*words, block);
}

}  // namespace binade
