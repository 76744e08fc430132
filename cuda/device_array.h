// SPDX-License-Identifier: Apache-2.0
//
// An array in the device's memory that goes when its owner does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "cuda/call.h"

namespace binade {

/// `doing`: the kernel and the case it is for, for errors.
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

  void copy_from(std::span<const T> values) {
    must(cudaMemcpy(values_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
         "cudaMemcpy to the device", doing_);
  }
  /// Waits for the kernels before; their faults show here.
  void copy_to(std::span<T> values) const {
    must(cudaMemcpy(values.data(), values_, values.size_bytes(), cudaMemcpyDeviceToHost),
         "cudaMemcpy from the device", doing_);
  }

 private:
  T* values_ = nullptr;
  std::size_t size_;
  std::string doing_;
};

/// Whether kernels may take 16 bytes at a time from there.
inline bool at_16_bytes(const void* values) {
  return reinterpret_cast<std::uintptr_t>(values) % 16 == 0;
}

}  // namespace binade
