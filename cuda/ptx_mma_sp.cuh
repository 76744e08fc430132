// SPDX-License-Identifier: Apache-2.0
//
// PTX's sparse instructions: mma.sp with ordered metadata, and wgmma.sp with m64n8. Each row of the
// two tables becomes a function with one asm statement that executes one instruction and returns
// true; where the compiled architecture lacks the instruction, it returns false. The sparsity
// selector is 0: of each four lanes, the first ones hold the metadata. Above each macro that makes
// rows, a line per instruction has binade's name and PTX's name.
#pragma once

#include "cuda/mma_tiles.cuh"
#include "cuda/ptx_operands.cuh"
#include "cuda/wgmma_tiles.cuh"

namespace binade {

// clang-format off
// row(function, architecture for BINADE_ON, registers of d, a, b and c, elements in a register of d and
//     c, k, groups in a row of a, formats of d (and c), a and b, PTX's name after "….sync.aligned.")
//
// mma.sp.m16n8k16.f32.f16.f16.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// mma.sp.m16n8k32.f32.f16.f16.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32
// mma.sp.m16n8k16.f16.f16.f16.f16 mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16
// mma.sp.m16n8k32.f16.f16.f16.f16 mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16
// mma.sp.m16n8k16.f32.bf16.bf16.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// mma.sp.m16n8k32.f32.bf16.bf16.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32
// mma.sp.m16n8k8.f32.tf32.tf32.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// mma.sp.m16n8k16.f32.tf32.tf32.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32
#define BINADE_MMA_SP_TABLE(row) \
  row(mma_sp_m16n8k16_f32_f16, 80, 4, 2, 2, 4, 1, 16, 4, binary32, binary16, binary16, \
      "m16n8k16.row.col.f32.f16.f16.f32") \
  row(mma_sp_m16n8k32_f32_f16, 80, 4, 4, 4, 4, 1, 32, 8, binary32, binary16, binary16, \
      "m16n8k32.row.col.f32.f16.f16.f32") \
  row(mma_sp_m16n8k16_f16_f16, 80, 2, 2, 2, 2, 2, 16, 4, binary16, binary16, binary16, \
      "m16n8k16.row.col.f16.f16.f16.f16") \
  row(mma_sp_m16n8k32_f16_f16, 80, 2, 4, 4, 2, 2, 32, 8, binary16, binary16, binary16, \
      "m16n8k32.row.col.f16.f16.f16.f16") \
  row(mma_sp_m16n8k16_f32_bf16, 80, 4, 2, 2, 4, 1, 16, 4, binary32, bfloat16, bfloat16, \
      "m16n8k16.row.col.f32.bf16.bf16.f32") \
  row(mma_sp_m16n8k32_f32_bf16, 80, 4, 4, 4, 4, 1, 32, 8, binary32, bfloat16, bfloat16, \
      "m16n8k32.row.col.f32.bf16.bf16.f32") \
  row(mma_sp_m16n8k8_f32_tf32, 80, 4, 2, 2, 4, 1, 8, 4, binary32, tf32, tf32, \
      "m16n8k8.row.col.f32.tf32.tf32.f32") \
  row(mma_sp_m16n8k16_f32_tf32, 80, 4, 4, 4, 4, 1, 16, 8, binary32, tf32, tf32, \
      "m16n8k16.row.col.f32.tf32.tf32.f32") \
  BINADE_MMA_SP_FP8(row, e4m3, e4m3) BINADE_MMA_SP_FP8(row, e4m3, e5m2) \
  BINADE_MMA_SP_FP8(row, e5m2, e4m3) BINADE_MMA_SP_FP8(row, e5m2, e5m2)
// mma.sp.m16n8k64.f32.e4m3.e4m3.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32
// mma.sp.m16n8k64.f16.e4m3.e4m3.f16 mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16
// mma.sp.m16n8k64.f32.e4m3.e5m2.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32
// mma.sp.m16n8k64.f16.e4m3.e5m2.f16 mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e5m2.f16
// mma.sp.m16n8k64.f32.e5m2.e4m3.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e5m2.e4m3.f32
// mma.sp.m16n8k64.f16.e5m2.e4m3.f16 mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e5m2.e4m3.f16
// mma.sp.m16n8k64.f32.e5m2.e5m2.f32 mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e5m2.e5m2.f32
// mma.sp.m16n8k64.f16.e5m2.e5m2.f16 mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e5m2.e5m2.f16
#define BINADE_MMA_SP_FP8(row, a, b) \
  row(mma_sp_m16n8k64_f32_##a##_##b, 89, 4, 4, 4, 4, 1, 64, 16, binary32, a, b, \
      "m16n8k64.row.col.f32." #a "." #b ".f32") \
  row(mma_sp_m16n8k64_f16_##a##_##b, 120a, 2, 4, 4, 2, 2, 64, 16, binary16, a, b, \
      "m16n8k64.row.col.f16." #a "." #b ".f16")

// row(function, registers of d, elements in a register of d, k, groups in a row of a, formats of d, a
//     and b, PTX's name after "wgmma.mma_async.sp.sync.aligned.", immediate operands: signs of a and b,
//     and for 16-bit types whether a and b are transposed)
//
// wgmma.sp.m64n8k32.f32.f16.f16 wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16
// wgmma.sp.m64n8k32.f16.f16.f16 wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16
// wgmma.sp.m64n8k32.f32.bf16.bf16 wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16
// wgmma.sp.m64n8k16.f32.tf32.tf32 wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32
#define BINADE_WGMMA_SP_TABLE(row) \
  row(wgmma_sp_m64n8k32_f32_f16, 4, 1, 32, 8, binary32, binary16, binary16, \
      "m64n8k32.f32.f16.f16", ", 1, 1, 0, 0") \
  row(wgmma_sp_m64n8k32_f16_f16, 2, 2, 32, 8, binary16, binary16, binary16, \
      "m64n8k32.f16.f16.f16", ", 1, 1, 0, 0") \
  row(wgmma_sp_m64n8k32_f32_bf16, 4, 1, 32, 8, binary32, bfloat16, bfloat16, \
      "m64n8k32.f32.bf16.bf16", ", 1, 1, 0, 0") \
  row(wgmma_sp_m64n8k16_f32_tf32, 4, 1, 16, 8, binary32, tf32, tf32, \
      "m64n8k16.f32.tf32.tf32", ", 1, 1") \
  BINADE_WGMMA_SP_FP8(row, e4m3, e4m3) BINADE_WGMMA_SP_FP8(row, e4m3, e5m2) \
  BINADE_WGMMA_SP_FP8(row, e5m2, e4m3) BINADE_WGMMA_SP_FP8(row, e5m2, e5m2)
// wgmma.sp.m64n8k64.f32.e4m3.e4m3 wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3
// wgmma.sp.m64n8k64.f16.e4m3.e4m3 wgmma.mma_async.sp.sync.aligned.m64n8k64.f16.e4m3.e4m3
// wgmma.sp.m64n8k64.f32.e4m3.e5m2 wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2
// wgmma.sp.m64n8k64.f16.e4m3.e5m2 wgmma.mma_async.sp.sync.aligned.m64n8k64.f16.e4m3.e5m2
// wgmma.sp.m64n8k64.f32.e5m2.e4m3 wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e5m2.e4m3
// wgmma.sp.m64n8k64.f16.e5m2.e4m3 wgmma.mma_async.sp.sync.aligned.m64n8k64.f16.e5m2.e4m3
// wgmma.sp.m64n8k64.f32.e5m2.e5m2 wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e5m2.e5m2
// wgmma.sp.m64n8k64.f16.e5m2.e5m2 wgmma.mma_async.sp.sync.aligned.m64n8k64.f16.e5m2.e5m2
#define BINADE_WGMMA_SP_FP8(row, a, b) \
  row(wgmma_sp_m64n8k64_f32_##a##_##b, 4, 1, 64, 16, binary32, a, b, \
      "m64n8k64.f32." #a "." #b, ", 1, 1") \
  row(wgmma_sp_m64n8k64_f16_##a##_##b, 2, 2, 64, 16, binary16, a, b, \
      "m64n8k64.f16." #a "." #b, ", 1, 1")
// clang-format on

// The register vectors, then the register of the metadata and the sparsity selector.
#define BINADE_SPARSE_OPERANDS_4224 BINADE_OPERANDS_4224 ", %12, 0x0;"
#define BINADE_SPARSE_OPERANDS_4444 BINADE_OPERANDS_4444 ", %16, 0x0;"
#define BINADE_SPARSE_OPERANDS_2222 BINADE_OPERANDS_2222 ", %8, 0x0;"
#define BINADE_SPARSE_OPERANDS_2442 BINADE_OPERANDS_2442 ", %12, 0x0;"

#define BINADE_MMA_SP_WRAPPER(name, arch, nd, na, nb, nc, per, k, groups, fd, fa, fb, text) \
  __device__ inline bool name([[maybe_unused]] MmaRegisters<word32>& x) {                   \
    BINADE_ON(arch, asm volatile("mma.sp::ordered_metadata.sync.aligned." text              \
                                 " " BINADE_SPARSE_OPERANDS_##nd##na##nb##nc                \
                                 : BINADE_LIST(nd, "=r", x.d)                               \
                                 : BINADE_LIST(na, "r", x.a), BINADE_LIST(nb, "r", x.b),    \
                                   BINADE_LIST(nc, "r", x.c), "r"(x.metadata)));            \
  }
BINADE_MMA_SP_TABLE(BINADE_MMA_SP_WRAPPER)

#define BINADE_WGMMA_SP_OPERANDS_4 "{%0, %1, %2, %3}, %4, %5, %6, 0, 1"
#define BINADE_WGMMA_SP_OPERANDS_2 "{%0, %1}, %2, %3, %4, 0, 1"

#define BINADE_WGMMA_SP_WRAPPER(name, nd, per, k, groups, fd, fa, fb, text, immediates) \
  __device__ inline bool name([[maybe_unused]] WgmmaOperands& x) {                      \
    BINADE_ON(90a, asm volatile("wgmma.mma_async.sp.sync.aligned." text                 \
                                " " BINADE_WGMMA_SP_OPERANDS_##nd immediates ";"        \
                                : BINADE_LIST(nd, "+r", x.d)                            \
                                : "l"(x.a), "l"(x.b), "r"(x.metadata)                   \
                                : "memory"));                                           \
  }
BINADE_WGMMA_SP_TABLE(BINADE_WGMMA_SP_WRAPPER)

}  // namespace binade
