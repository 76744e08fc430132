// SPDX-License-Identifier: Apache-2.0
//
// Memory for PTX's red, which adds to a word in memory: a word of 32 bits for each thread, in
// global memory for the whole grid of run_scalar.h, or in shared memory for a block.
#pragma once

#include <cstdint>

#include "cuda/run_scalar.h"

namespace binade {
namespace {

/// Returns the address of this thread's word in global memory.
template <class T>
__device__ T* global_memory() {
  __device__ static std::uint32_t words[scalar_blocks * scalar_threads];
  return reinterpret_cast<T*>(&words[blockIdx.x * blockDim.x + threadIdx.x]);
}

/// Returns the address of this thread's word in shared memory.
template <class T>
__device__ T* shared_memory() {
  __shared__ std::uint32_t words[scalar_threads];
  return reinterpret_cast<T*>(&words[threadIdx.x]);
}

}  // namespace
}  // namespace binade
