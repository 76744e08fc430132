// SPDX-License-Identifier: Apache-2.0
//
// The kernels of range_count, and their launches.
#include "cuda/range_count.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/current_gpu.h"
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

cudaStream_t stream_of(std::uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); }

/// Counts n floats in the current GPU's memory, in the order of `stream`, waits for it and adds the
/// counts to a block of the host. `words` are work space on the GPU.
void count_on_current(const float* in, std::size_t n, std::span<const ErrorColumn> columns,
                      std::uintptr_t stream, RangeWords* words, RangeBlock<float>& block) {
  clear_range_words(words, columns.size(), stream);
  launch_range_count(in, n, columns, words, stream);
  const auto counted = std::make_unique<RangeWords>();
  must(cudaMemcpyAsync(counted.get(), words, bytes_of_range_words(columns.size()),
                       cudaMemcpyDeviceToHost, stream_of(stream)),
       "cudaMemcpyAsync from the device", counting(n));
  must(cudaStreamSynchronize(stream_of(stream)), "cudaStreamSynchronize", counting(n));
  add_range_words(*counted, block);
}

}  // namespace

void clear_range_words(RangeWords* words, std::size_t columns, std::uintptr_t stream) {
  const std::string doing = "clearing the sums of range_count";
  must(cudaMemsetAsync(words, 0, bytes_of_range_words(columns), stream_of(stream)),
       "cudaMemsetAsync", doing);
  must(cudaMemsetAsync(&words->smallest, 0xFF, sizeof words->smallest, stream_of(stream)),
       "cudaMemsetAsync", doing);
}

void launch_range_count(const float* in, std::size_t n, std::span<const ErrorColumn> columns,
                        RangeWords* words, std::uintptr_t stream) {
  if (n == 0) return;
  const RangeCall call = range_call(in, n, columns);
  const unsigned blocks = range_blocks(call);
  range_count_kernel<<<blocks, range_threads, 0, stream_of(stream)>>>(call, words);
  must(cudaGetLastError(), "the launch", counting(n));
  if (columns.empty()) return;
  const dim3 grid(blocks, static_cast<unsigned>(columns.size()));
  range_error_kernel<<<grid, range_threads, 0, stream_of(stream)>>>(call, words);
  must(cudaGetLastError(), "the launch of the error columns", counting(n));
}

void range_count_on_gpu(std::span<const float> in, std::span<const ErrorColumn> columns,
                        RangeBlock<float>& block) {
  const DeviceArray<float> values(in, counting(in.size()));
  const DeviceArray<RangeWords> total(1, counting(in.size()));
  count_on_current(values.get(), in.size(), columns, 0, total.get(), block);
}

struct RangeCountInPlace::OnGpus {
  std::mutex counting;
  std::map<int, DeviceArray<RangeWords>> words;
};
RangeCountInPlace::RangeCountInPlace() : on_gpus_(std::make_unique<OnGpus>()) {}
RangeCountInPlace::~RangeCountInPlace() = default;

void RangeCountInPlace::operator()(const float* in, std::size_t n,
                                   std::span<const ErrorColumn> columns, std::uintptr_t stream,
                                   RangeBlock<float>& block) {
  if (n == 0) return;
  cudaPointerAttributes place{};
  must(cudaPointerGetAttributes(&place, in), "cudaPointerGetAttributes", counting(n));
  if (place.type != cudaMemoryTypeDevice && place.type != cudaMemoryTypeManaged) {
    throw Error(counting(n) + ": an address that is not of a GPU's memory; count those on the CPU");
  }
  const std::lock_guard lock(on_gpus_->counting);
  const CurrentGpu gpu(place.device, counting(n));
  const auto words = on_gpus_->words.try_emplace(place.device, std::size_t{1}, counting(n)).first;
  count_on_current(in, n, columns, stream, words->second.get(), block);
}

void range_count_on_own_stream(std::span<const float> in, std::span<const ErrorColumn> columns,
                               RangeBlock<float>& block) {
  const DeviceArray<float> values(in, counting(in.size()));
  cudaStream_t stream = nullptr;
  must(cudaStreamCreate(&stream), "cudaStreamCreate", counting(in.size()));
  RangeCountInPlace{}(values.get(), in.size(), columns, reinterpret_cast<std::uintptr_t>(stream),
                      block);
  must(cudaStreamDestroy(stream), "cudaStreamDestroy", counting(in.size()));
}

}  // namespace binade
