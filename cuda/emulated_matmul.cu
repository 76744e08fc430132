// SPDX-License-Identifier: Apache-2.0
//
// The kernels of emulated matrix products, and their launches.
#include "cuda/emulated_matmul.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cuda/device_array.h"
#include "cuda/emulated_dot.h"
#include "cuda/emulated_matmul.cuh"

namespace binade {
namespace {

/// x >> n for any n >= 0 in one instruction. PTX's shr takes any count: from 32 on the result is 0,
/// or -1 if x is negative.
struct DeviceShift {
  __device__ std::int32_t operator()(std::int32_t x, int n) const {
    std::int32_t out;
    asm("shr.s32 %0, %1, %2;" : "=r"(out) : "r"(x), "r"(n));
    return out;
  }
  __device__ std::uint32_t operator()(std::uint32_t x, int n) const {
    std::uint32_t out;
    asm("shr.u32 %0, %1, %2;" : "=r"(out) : "r"(x), "r"(n));
    return out;
  }
};

__global__ void predecode_kernel(const __grid_constant__ MatmulPlan plan, MatmulArrays arrays,
                                 MatmulFactors out, bool of_b) {
  predecode_body(plan, arrays, out, of_b);
}

template <int block, bool nearest, bool wide>
__global__ void __launch_bounds__(matmul_threads, 2)
    tile_kernel(const __grid_constant__ MatmulPlan plan,
                const __grid_constant__ MatmulArrays arrays,
                const __grid_constant__ MatmulFactors factors) {
  emulated_tile_body<block, nearest, wide>(plan, arrays, factors, DeviceShift{});
}

__global__ void begin_kernel(const __grid_constant__ MatmulPlan plan, MatmulArrays arrays,
                             MatmulFactors factors) {
  begin_body(plan, arrays, factors);
}

using TileKernel = void (*)(MatmulPlan, MatmulArrays, MatmulFactors);

struct KernelRow {
  int block;
  bool nearest, wide;
  TileKernel kernel;
};
const KernelRow kernel_rows[] = {
    {4, false, false, tile_kernel<4, false, false>},
    {4, true, false, tile_kernel<4, true, false>},
    {8, false, false, tile_kernel<8, false, false>},
    {8, true, false, tile_kernel<8, true, false>},
    {16, false, false, tile_kernel<16, false, false>},
    {16, true, false, tile_kernel<16, true, false>},
    {32, false, false, tile_kernel<32, false, false>},
    {32, true, false, tile_kernel<32, true, false>},
    {32, false, true, tile_kernel<32, false, true>},
    {32, true, true, tile_kernel<32, true, true>},
};

TileKernel kernel_of(const MatmulPlan& plan) {
  const bool nearest = plan.matmul.model.rounding == Rounding::ties_to_even;
  for (const KernelRow& row : kernel_rows) {
    if (row.block == plan.block && row.nearest == nearest && row.wide == plan.rules.wide) {
      return row.kernel;
    }
  }
  return nullptr;  // `dot` computes blocks shorter than 32 whose sum needs more than 32 bits
}

std::string doing(const Matmul& x) {
  return "kernel emulated matmul, " + std::to_string(x.m) + " x " + std::to_string(x.n) + " x " +
         std::to_string(x.k);
}

unsigned blocks_of(std::size_t n, std::size_t threads) {
  return static_cast<unsigned>((n + threads - 1) / threads);
}

}  // namespace

struct EmulatedMatmul::OnDevice {
  MatmulPlan plan;
  TileKernel kernel;
  std::string what;
  DeviceArray<std::uint64_t> a, b, c, d;
  DeviceArray<fast::TileSum> sums;
  DeviceArray<unsigned char> left;
  DeviceArray<std::int32_t> a_significand, a_exponent, b_significand, b_exponent;
  DeviceArray<unsigned> special;

  static std::size_t room(const MatmulPlan& plan, int rows) {
    return static_cast<std::size_t>(plan.places) * static_cast<std::size_t>(rows);
  }
  static MatmulPlan plan_of(const Matmul& x) {
    MatmulPlan plan = matmul_plan(x);
    plan.tiled = plan.tiled && kernel_of(plan) != nullptr;
    return plan;
  }

  OnDevice(const Matmul& x, std::span<const std::uint64_t> a_codes,
           std::span<const std::uint64_t> b_codes, std::span<const std::uint64_t> c_codes)
      : plan(plan_of(x)),
        kernel(kernel_of(plan)),
        what(doing(x)),
        a(a_codes, what),
        b(b_codes, what),
        c(c_codes, what),
        d(c_codes.size(), what),
        sums(c_codes.size(), what),
        left(c_codes.size(), what),
        a_significand(std::vector<std::int32_t>(room(plan, plan.rows)), what),
        a_exponent(std::vector<std::int32_t>(room(plan, plan.rows), fast::Factor{}.exponent), what),
        b_significand(std::vector<std::int32_t>(room(plan, plan.columns)), what),
        b_exponent(std::vector<std::int32_t>(room(plan, plan.columns), fast::Factor{}.exponent),
                   what),
        special(std::vector<unsigned>(static_cast<std::size_t>(x.m) + x.n), what) {}

  MatmulArrays arrays() const {
    return {a.get(), b.get(), c.get(), d.get(), sums.get(), left.get()};
  }

  void run_tiles() const {
    const MatmulFactors factors{a_significand.get(), a_exponent.get(), b_significand.get(),
                                b_exponent.get(), special.get()};
    constexpr unsigned threads = 128;
    const auto k = static_cast<unsigned>(plan.matmul.k);
    predecode_kernel<<<dim3(blocks_of(plan.matmul.m, threads), k), threads>>>(plan, arrays(),
                                                                              factors, false);
    predecode_kernel<<<dim3(blocks_of(plan.matmul.n, threads), k), threads>>>(plan, arrays(),
                                                                              factors, true);
    must(cudaGetLastError(), "the launch that takes operands apart", what);
    begin_kernel<<<blocks_of(d.size(), threads), threads>>>(plan, arrays(), factors);
    must(cudaGetLastError(), "the launch that begins the sums", what);
    const dim3 tiles(static_cast<unsigned>(plan.columns / matmul_tile),
                     static_cast<unsigned>(plan.rows / matmul_tile));
    kernel<<<tiles, matmul_threads>>>(plan, arrays(), factors);
    must(cudaGetLastError(), "the launch of the tiles", what);
  }
};

EmulatedMatmul::EmulatedMatmul(const Matmul& matmul, std::span<const std::uint64_t> a,
                               std::span<const std::uint64_t> b, std::span<const std::uint64_t> c)
    : on_device_(std::make_unique<OnDevice>(matmul, a, b, c)) {}
EmulatedMatmul::~EmulatedMatmul() = default;

void EmulatedMatmul::launch() {
  if (on_device_->d.size() == 0) return;
  if (on_device_->plan.tiled) on_device_->run_tiles();
  launch_finish(on_device_->plan, on_device_->arrays(), on_device_->d.size(), on_device_->what);
}

void EmulatedMatmul::results(std::span<std::uint64_t> d) const { on_device_->d.copy_to(d); }

}  // namespace binade
