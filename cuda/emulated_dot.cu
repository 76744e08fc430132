// SPDX-License-Identifier: Apache-2.0
//
// The kernels that call `dot`. They are in one source because they share its code (shared_dot.cuh).
#include "cuda/emulated_dot.h"

#include "cuda/call.h"
#include "cuda/compare_tiles.cuh"
#include "cuda/emulated_matmul.cuh"

namespace binade {
namespace {

constexpr unsigned compare_blocks = 132 * 16;
constexpr unsigned threads = 128;

__global__ void compare_kernel(const __grid_constant__ Comparison comparison) {
  compare_tiles(comparison);
}

__global__ void finish_kernel(const __grid_constant__ MatmulPlan plan, MatmulArrays arrays) {
  finish_body(plan, arrays);
}

}  // namespace

void launch_comparison(const Comparison& comparison, const std::string& doing) {
  compare_kernel<<<compare_blocks, threads>>>(comparison);
  must(cudaGetLastError(), "the launch", doing);
}

void launch_finish(const MatmulPlan& plan, const MatmulArrays& arrays, std::size_t elements,
                   const std::string& doing) {
  finish_kernel<<<static_cast<unsigned>((elements + threads - 1) / threads), threads>>>(plan,
                                                                                        arrays);
  must(cudaGetLastError(), "the launch that finishes the elements", doing);
}

}  // namespace binade
