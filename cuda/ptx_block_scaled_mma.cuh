// SPDX-License-Identifier: Apache-2.0
//
// PTX's mma.sync with block scales, for the Tensor Cores of RTX Blackwell. Each row of
// BINADE_SCALED_TABLE becomes a function with one asm statement that executes one instruction and
// returns true, and a kernel (scaled_instances.cu); only sm_120a and sm_121a have these
// instructions, elsewhere the functions return false. ptxas accepts them; no GPU has run them for
// this project. kind::f8f6f4, which has no scales, is in ptx_mma.cuh. Not here: the sparse ones,
// and scale_vec::4X of ue8m0, which PTX has from 9.1 on. Above each macro that makes rows, a line
// per instruction has PTX's name.
#pragma once

#include "cuda/mma_tiles.cuh"
#include "cuda/ptx_operands.cuh"

namespace binade {

// clang-format off
// row(function, k, types of a and b, kind, PTX's name after "mma.sync.aligned.")
//
// mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
// mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
// mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3
#define BINADE_SCALED_TABLE(row) \
  BINADE_MXF8F6F4_OF(row, e4m3) BINADE_MXF8F6F4_OF(row, e5m2) BINADE_MXF8F6F4_OF(row, e3m2) \
  BINADE_MXF8F6F4_OF(row, e2m3) BINADE_MXF8F6F4_OF(row, e2m1) \
  row(mma_m16n8k64_mxf4_ue8m0, 64, e2m1, e2m1, mxf4, \
      "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0") \
  row(mma_m16n8k64_mxf4nvf4_ue8m0, 64, e2m1, e2m1, mxf4nvf4_2x, \
      "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0") \
  row(mma_m16n8k64_mxf4nvf4_ue4m3, 64, e2m1, e2m1, mxf4nvf4_4x, \
      "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3")
#define BINADE_MXF8F6F4_OF(row, a) \
  BINADE_MXF8F6F4(row, a, e4m3) BINADE_MXF8F6F4(row, a, e5m2) BINADE_MXF8F6F4(row, a, e3m2) \
  BINADE_MXF8F6F4(row, a, e2m3) BINADE_MXF8F6F4(row, a, e2m1)
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e3m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e4m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e3m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e2m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e2m1.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e4m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e5m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e3m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m1.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e4m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e5m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e3m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e2m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e2m1.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e4m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e5m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e3m2.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m3.f32.ue8m0
// mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0
#define BINADE_MXF8F6F4(row, a, b) \
  row(mma_m16n8k32_mxf8f6f4_##a##_##b, 32, a, b, mxf8f6f4, \
      "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32." #a "." #b ".f32.ue8m0")
// clang-format on

#define BINADE_SCALED_WRAPPER(name, k, a_type, b_type, kind, text)                              \
  __device__ inline bool name([[maybe_unused]] MmaRegisters<word32>& x) {                       \
    BINADE_ON(120a, asm volatile("mma.sync.aligned." text " " BINADE_OPERANDS_4424              \
                                 ", %14, {0, 0}, %15, {0, 0};"                                  \
                                 : BINADE_LIST_4("=r", x.d)                                     \
                                 : BINADE_LIST_4("r", x.a), BINADE_LIST_2("r", x.b),            \
                                   BINADE_LIST_4("r", x.c), "r"(x.scales_a), "r"(x.scales_b))); \
  }
BINADE_SCALED_TABLE(BINADE_SCALED_WRAPPER)

}  // namespace binade
