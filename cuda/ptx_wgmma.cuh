// SPDX-License-Identifier: Apache-2.0
//
// PTX's wgmma.mma_async with m64n8 and with a and b in shared memory, and the fences around it.
// Each row of BINADE_WGMMA_TABLE becomes a function with one asm statement that executes one
// instruction and returns true; only sm_90a has these instructions, elsewhere the functions return
// false. A line per instruction, above the macros that list it, has binade's name and PTX's name;
// the forms _without_c, _minus_a and _minus_b differ in immediate operands, and binade's names of
// them end in .scale_d_0, .imm_scale_a_-1 and .imm_scale_b_-1.
#pragma once

#include "cuda/ptx_operands.cuh"
#include "cuda/wgmma_tiles.cuh"

namespace binade {

/// Sets `address` to p's address in shared memory. Unlike the other functions here it needs sm_80
/// only.
__device__ inline bool cvta_to_shared([[maybe_unused]] std::uint64_t& address,
                                      [[maybe_unused]] const void* p) {
  BINADE_ON(80, asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p)));
}

/// The instructions around wgmma that run_wgmma_tile (wgmma_tiles.cuh) needs; tests have a
/// stand-in.
struct WgmmaPtx {
  static __device__ std::uint32_t shared_address(const void* p) {
    std::uint64_t address = 0;
    cvta_to_shared(address, p);
    return static_cast<std::uint32_t>(address);
  }
  /// Makes this thread's earlier stores to shared memory visible to later accesses through the
  /// asynchronous proxy, by which wgmma reads a and b.
  static __device__ bool fence_proxy_async() {
    BINADE_ON(90a, asm volatile("fence.proxy.async.shared::cta;" ::: "memory"));
  }
  /// wgmma_fence and wgmma_wait_group name the accumulators as operands ("+r"), so that the
  /// compiler moves no use of an accumulator across them.
  static __device__ bool wgmma_fence([[maybe_unused]] WgmmaOperands& x) {
    BINADE_ON(90a, asm volatile("wgmma.fence.sync.aligned;" : BINADE_LIST(4, "+r", x.d)::"memory"));
  }
  static __device__ bool wgmma_commit_group() {
    BINADE_ON(90a, asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"));
  }
  static __device__ bool wgmma_wait_group([[maybe_unused]] WgmmaOperands& x) {
    BINADE_ON(90a, asm volatile("wgmma.wait_group.sync.aligned 0;"
                                : BINADE_LIST(4, "+r", x.d)::"memory"));
  }
};

// clang-format off
// row(function, registers of d, elements in a register of d, k, formats of d, a and b, Variant of
//     tile_kernels.h, PTX's name after "wgmma.mma_async.sync.aligned.", immediate operands: whether d is
//     added; for floating-point types the signs of a and b; and for 16-bit types whether a and b are
//     transposed)
//
// wgmma.m64n8k16.f32.f16.f16 wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
// wgmma.m64n8k16.f16.f16.f16 wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16
// wgmma.m64n8k16.f32.bf16.bf16 wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16
// wgmma.m64n8k8.f32.tf32.tf32 wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32
#define BINADE_WGMMA_TABLE(row) \
  BINADE_WGMMA_FORMS(row, wgmma_m64n8k16_f32_f16, 4, 1, 16, binary32, binary16, binary16, \
                     "m64n8k16.f32.f16.f16", ", 0, 0") \
  BINADE_WGMMA_FORMS(row, wgmma_m64n8k16_f16_f16, 2, 2, 16, binary16, binary16, binary16, \
                     "m64n8k16.f16.f16.f16", ", 0, 0") \
  BINADE_WGMMA_FORMS(row, wgmma_m64n8k16_f32_bf16, 4, 1, 16, binary32, bfloat16, bfloat16, \
                     "m64n8k16.f32.bf16.bf16", ", 0, 0") \
  BINADE_WGMMA_FORMS(row, wgmma_m64n8k8_f32_tf32, 4, 1, 8, binary32, tf32, tf32, \
                     "m64n8k8.f32.tf32.tf32", "") \
  BINADE_WGMMA_FP8(row, e4m3, e4m3) BINADE_WGMMA_FP8(row, e4m3, e5m2) \
  BINADE_WGMMA_FP8(row, e5m2, e4m3) BINADE_WGMMA_FP8(row, e5m2, e5m2) \
  BINADE_WGMMA_INT8(row, s8, s8) BINADE_WGMMA_INT8(row, s8, u8) \
  BINADE_WGMMA_INT8(row, u8, s8) BINADE_WGMMA_INT8(row, u8, u8)
#define BINADE_WGMMA_FORMS(row, name, nd, per, k, fd, fa, fb, text, transposed) \
  row(name, nd, per, k, fd, fa, fb, plain, text, ", 1, 1, 1" transposed) \
  row(name##_without_c, nd, per, k, fd, fa, fb, without_c, text, ", 0, 1, 1" transposed) \
  row(name##_minus_a, nd, per, k, fd, fa, fb, minus_a, text, ", 1, -1, 1" transposed) \
  row(name##_minus_b, nd, per, k, fd, fa, fb, minus_b, text, ", 1, 1, -1" transposed)
// wgmma.m64n8k32.f32.e4m3.e4m3 wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3
// wgmma.m64n8k32.f16.e4m3.e4m3 wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3
// wgmma.m64n8k32.f32.e4m3.e5m2 wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2
// wgmma.m64n8k32.f16.e4m3.e5m2 wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2
// wgmma.m64n8k32.f32.e5m2.e4m3 wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e4m3
// wgmma.m64n8k32.f16.e5m2.e4m3 wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e4m3
// wgmma.m64n8k32.f32.e5m2.e5m2 wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2
// wgmma.m64n8k32.f16.e5m2.e5m2 wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e5m2
#define BINADE_WGMMA_FP8(row, a, b) \
  BINADE_WGMMA_FORMS(row, wgmma_m64n8k32_f32_##a##_##b, 4, 1, 32, binary32, a, b, \
                     "m64n8k32.f32." #a "." #b, "") \
  BINADE_WGMMA_FORMS(row, wgmma_m64n8k32_f16_##a##_##b, 2, 2, 32, binary16, a, b, \
                     "m64n8k32.f16." #a "." #b, "")
// wgmma.m64n8k32.s32.s8.s8 wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8
// wgmma.m64n8k32.satfinite.s32.s8.s8 wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.s8
// wgmma.m64n8k32.s32.s8.u8 wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8
// wgmma.m64n8k32.satfinite.s32.s8.u8 wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.u8
// wgmma.m64n8k32.s32.u8.s8 wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8
// wgmma.m64n8k32.satfinite.s32.u8.s8 wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.u8.s8
// wgmma.m64n8k32.s32.u8.u8 wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8
// wgmma.m64n8k32.satfinite.s32.u8.u8 wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.u8.u8
#define BINADE_WGMMA_INT8(row, a, b) \
  row(wgmma_m64n8k32_s32_##a##_##b, 4, 1, 32, s32, a, b, plain, "m64n8k32.s32." #a "." #b, ", 1") \
  row(wgmma_m64n8k32_satfinite_s32_##a##_##b, 4, 1, 32, s32, a, b, satfinite, \
      "m64n8k32.satfinite.s32." #a "." #b, ", 1")
// clang-format on

#define BINADE_WGMMA_OPERANDS_4 "{%0, %1, %2, %3}, %4, %5"
#define BINADE_WGMMA_OPERANDS_2 "{%0, %1}, %2, %3"

#define BINADE_WGMMA_WRAPPER(name, nd, per, k, fd, fa, fb, variant, text, immediates) \
  __device__ inline bool name([[maybe_unused]] WgmmaOperands& x) {                    \
    BINADE_ON(90a, asm volatile("wgmma.mma_async.sync.aligned." text                  \
                                " " BINADE_WGMMA_OPERANDS_##nd immediates ";"         \
                                : BINADE_LIST(nd, "+r", x.d)                          \
                                : "l"(x.a), "l"(x.b)                                  \
                                : "memory"));                                         \
  }
BINADE_WGMMA_TABLE(BINADE_WGMMA_WRAPPER)

}  // namespace binade
