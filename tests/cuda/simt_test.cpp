// SPDX-License-Identifier: Apache-2.0
//
// The stand-in for a GPU gives the sums, shuffles and ballots that CUDA gives, and tells of
// barriers that not all threads reach.
#include "tests/cuda/simt.h"

#include <doctest/doctest.h>

#include <numeric>

namespace simt_test {
namespace {

/// Thread t's number to the sum over the block; warps by shuffles, the block through shared memory.
__global__ void sum_kernel(const unsigned* in, unsigned* out) {
  __shared__ unsigned of_warp[32];
  unsigned sum = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned i = 1; i < blockDim.x / 32; ++i) sum += of_warp[i];
    atomicAdd(&out[blockIdx.x], sum);
  }
}

TEST_CASE("a block's sum passes shuffles, shared memory, a barrier and an atomic") {
  std::vector<unsigned> in(3 * 128);
  std::iota(in.begin(), in.end(), 1U);
  std::vector<unsigned> out(3);
  simt::launch({3}, {128}, sum_kernel, in.data(), out.data());
  CHECK(out == std::vector<unsigned>{8256, 24640, 41024});
}

__global__ void words_kernel(unsigned* out) {
  const unsigned lane = threadIdx.x;
  out[lane] = __shfl_down_sync(~0U, lane, 3);
  out[32 + lane] = __shfl_sync(~0U, lane, 7);
  out[64 + lane] = __ballot_sync(~0U, lane % 2 == 0 ? 1 : 0);
  out[96 + lane] = __reduce_max_sync(~0U, lane ^ 5) + 100 * __reduce_add_sync(~0U, lane);
  const auto all = simt::warp_gather(10 * lane);
  out[128 + lane] = all[31 - lane];
  if (lane < 8) out[160 + lane] = __reduce_min_sync(0xFF, lane + 1);
  __syncwarp();
  out[192 + lane] = atomicAdd(&out[224], 1U);
}

TEST_CASE("lanes see what the others show, whole warps and parts of them") {
  std::vector<unsigned> out(225);
  simt::launch({1}, {32}, words_kernel, out.data());
  CHECK(out[0] == 3);
  CHECK(out[28] == 31);
  CHECK(out[29] == 29);
  CHECK(out[32 + 11] == 7);
  CHECK(out[64 + 11] == 0x55555555);
  CHECK(out[96 + 11] == 31 + 100 * 496);
  CHECK(out[128 + 11] == 200);
  CHECK(out[160 + 7] == 1);
  CHECK(out[192 + 31] == 31);
  CHECK(out[224] == 32);
}

__global__ void diverging_kernel(int how) {
  if (how == 0 && threadIdx.x < 40) __syncthreads();
  if (how == 1 && threadIdx.x != 3) __shfl_sync(~0U, how, 0);
  if (how != 2) return;
  if (threadIdx.x < 32) {  // NOLINT(bugprone-branch-clone): two barriers, told apart by their lines
    __syncthreads();
  } else {
    __syncthreads();
  }
}

std::string complaint_about(int how) {
  try {
    simt::launch({1}, {64}, diverging_kernel, how);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("a barrier that not all threads reach is an error that names it") {
  CHECK(complaint_about(0).find("thread 0 waits for others at __syncthreads at") == 0);
  CHECK(complaint_about(1).find("thread 0 waits for others at __shfl_sync at") == 0);
  CHECK(complaint_about(2).find("__syncthreads at") != std::string::npos);
  CHECK(complaint_about(2).find("simt_test.cpp:") != std::string::npos);
  CHECK(complaint_about(3).empty());
}

__global__ void throwing_kernel() {
  if (threadIdx.x == 5) throw std::runtime_error("thread 5");
  __syncthreads();
}

TEST_CASE("what a thread throws comes out of the launch, and the next launch works") {
  CHECK_THROWS_WITH(simt::launch({1}, {32}, throwing_kernel), "thread 5");
  std::vector<unsigned> in(32, 2);
  unsigned out = 0;
  simt::launch({1}, {32}, sum_kernel, in.data(), &out);
  CHECK(out == 64);
}

}  // namespace
}  // namespace simt_test
