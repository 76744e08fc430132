// SPDX-License-Identifier: Apache-2.0
//
// A word of memory for each thread, that red adds to.
#pragma once

#include <cstdint>

#include "cuda/run_scalar.h"

namespace binade {
namespace {

template <class T>
__device__ T* global_memory() {
  __device__ static std::uint32_t words[scalar_blocks * scalar_threads];
  return reinterpret_cast<T*>(&words[blockIdx.x * blockDim.x + threadIdx.x]);
}

template <class T>
__device__ T* shared_memory() {
  __shared__ std::uint32_t words[scalar_threads];
  return reinterpret_cast<T*>(&words[threadIdx.x]);
}

}  // namespace
}  // namespace binade
