// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's tcgen05, each kind in a kernel of one tile, so that nvcc and ptxas check the
// functions of ptx_tcgen05.cuh: they are compiled for 100a; for other architectures the kernels do
// nothing. No code launches them, and no GPU has run them.
#include "cuda/ptx_tcgen05.cuh"
#include "cuda/wgmma_tiles.cuh"

namespace binade {

/// The matrices of one tile: rows of a and columns of b of 32 bytes each, 512 bytes of scales of a
/// and then of b, and d, row after row, in words of 32 bits.
struct BlackwellTile {
  const unsigned char* a = nullptr;
  const unsigned char* b = nullptr;
  const unsigned char* scales = nullptr;
  std::uint32_t* d = nullptr;
  std::uint32_t instruction = 0;  ///< instruction descriptor of tcgen05
};

constexpr int tile_m = 128, tile_n = 16, tile_row_bytes = 32;
/// Columns of tensor memory: d has the first 16, the scales of a begin at 16, those of b at 20.
constexpr unsigned tensor_columns = 32;
constexpr int scale_bytes = 512;

/// Computes d = a·b of a tile of 128 × 16; thread t writes row t. `scaled` says that the
/// instruction takes block scales.
template <class Instruction>
__device__ void run_tcgen05(const BlackwellTile& tile, bool scaled, Instruction instruction) {
  alignas(128) __shared__ unsigned char a[tile_m * tile_row_bytes];
  alignas(128) __shared__ unsigned char b[tile_n * tile_row_bytes];
  alignas(128) __shared__ unsigned char scales[2 * scale_bytes];
  alignas(8) __shared__ std::uint64_t barrier;
  __shared__ std::uint32_t tensor_memory;
  const auto address = [](const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
  };
  const bool first_warp = threadIdx.x < 32;
  stage_core_matrices<tile_m, tile_row_bytes>(a, [&](int row, int at) {
    return unit_at<std::uint32_t>(tile.a + row * tile_row_bytes, at);
  });
  stage_core_matrices<tile_n, tile_row_bytes>(b, [&](int row, int at) {
    return unit_at<std::uint32_t>(tile.b + row * tile_row_bytes, at);
  });
  for (unsigned i = threadIdx.x; scaled && i < 2 * scale_bytes; i += blockDim.x) {
    scales[i] = tile.scales[i];
  }
  if (first_warp) {
    tcgen05_alloc(address(&tensor_memory), tensor_columns);
    tcgen05_relinquish_alloc_permit(0);
  }
  if (threadIdx.x == 0) mbarrier_init(address(&barrier), 1);
  fence_proxy_async(0);
  tcgen05_fence_before_thread_sync(0);
  __syncthreads();
  tcgen05_fence_after_thread_sync(0);
  if (threadIdx.x == 0) {
    Tcgen05Operands x;
    x.d = tensor_memory;
    x.a = tcgen05_descriptor(address(a), tile_row_bytes);
    x.b = tcgen05_descriptor(address(b), tile_row_bytes);
    x.instruction = tile.instruction;
    x.scales_a = tensor_memory + 16;
    x.scales_b = tensor_memory + 20;
    if (scaled) {
      tcgen05_cp(x.scales_a, tcgen05_descriptor(address(scales), core_row_bytes));
      tcgen05_cp(x.scales_b, tcgen05_descriptor(address(scales + scale_bytes), core_row_bytes));
    }
    instruction(x);
    tcgen05_commit(address(&barrier));
  }
  std::uint32_t done = 0;
  while (mbarrier_try_wait_parity(done, address(&barrier), 0) && done == 0) {
  }
  tcgen05_fence_after_thread_sync(0);
  std::uint32_t d[16]{};
  tcgen05_ld_32x32b_x16(d, tensor_memory + (threadIdx.x / 32 << 21));  // lane 32 · warp
  tcgen05_wait_ld(d);
  for (int j = 0; j < tile_n; ++j) tile.d[threadIdx.x * tile_n + static_cast<unsigned>(j)] = d[j];
  tcgen05_fence_before_thread_sync(0);
  __syncthreads();
  if (first_warp) tcgen05_dealloc(tensor_memory, tensor_columns);
}

#define BINADE_TCGEN05_KERNEL(name, kind)                                    \
  __global__ void __launch_bounds__(128) kernel_##name(BlackwellTile tile) { \
    run_tcgen05(tile, false, [](const Tcgen05Operands& x) { name(x); });     \
  }
#define BINADE_TCGEN05_SCALED_KERNEL(name, kind)                             \
  __global__ void __launch_bounds__(128) kernel_##name(BlackwellTile tile) { \
    run_tcgen05(tile, true, [](const Tcgen05Operands& x) { name(x); });      \
  }
BINADE_TCGEN05_MMA_TABLE(BINADE_TCGEN05_KERNEL)
BINADE_TCGEN05_SCALED_TABLE(BINADE_TCGEN05_SCALED_KERNEL)

}  // namespace binade
