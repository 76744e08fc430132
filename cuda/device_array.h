// SPDX-License-Identifier: Apache-2.0
//
// An array in the memory of the current GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "cuda/call.h"

namespace binade {

/// Owns values in device memory, which the destructor frees: `size` uninitialized ones, or copies
/// of those given. `doing` names the kernel and the case in errors. Throws Error if CUDA fails.
template <class T>
class DeviceArray {
 public:
  DeviceArray(std::size_t size, std::string doing) : size_(size), doing_(std::move(doing)) {
    must(cudaMalloc(&values_, (size == 0 ? 1 : size) * sizeof(T)), "cudaMalloc", doing_);
  }
  DeviceArray(std::span<const T> values, std::string doing)
      : DeviceArray(values.size(), std::move(doing)) {
    copy_from(values);
  }
  ~DeviceArray() { cudaFree(values_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return values_; }
  std::size_t size() const { return size_; }

  /// Copies `values`, at most size() of them, from the host.
  void copy_from(std::span<const T> values) {
    must(cudaMemcpy(values_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
         "cudaMemcpy to the device", doing_);
  }
  /// Waits for the kernels before, whose faults are reported here, and copies values.size() values,
  /// at most size(), to the host.
  void copy_to(std::span<T> values) const {
    must(cudaMemcpy(values.data(), values_, values.size_bytes(), cudaMemcpyDeviceToHost),
         "cudaMemcpy from the device", doing_);
  }

 private:
  T* values_ = nullptr;
  std::size_t size_;
  std::string doing_;
};

/// Returns whether an address is a multiple of 16, so that kernels may load 16 bytes at a time.
inline bool at_16_bytes(const void* values) {
  return reinterpret_cast<std::uintptr_t>(values) % 16 == 0;
}

}  // namespace binade
