// SPDX-License-Identifier: Apache-2.0
//
// PTX's mma.sync with block scales, for the Tensor Cores of RTX Blackwell. Each row of
// BINADE_SCALED_TABLE becomes a function with one asm statement that executes one instruction and
// returns true; only sm_120a and sm_121a have these instructions, elsewhere the functions return
// false. ptxas accepts them; no GPU has run them for this project. kind::f8f6f4, which has no
// scales, is in ptx_mma.cuh. Above each macro that makes rows, a line per instruction has PTX's
// name.
#pragma once

#include "cuda/mma_tiles.cuh"
#include "cuda/ptx_operands.cuh"

namespace binade {

/// Operands of one lane: the registers of m16n8k32 or m16n8k64, and one 32-bit word with scales of
/// a row of a and one with those of a column of b (mma_lanes.h says of which lanes). As the
/// instruction's byte and thread selectors are 0, it takes the lowest 1, 2 or 4 bytes of a word
/// (scale_vec 1X, 2X, 4X), k ascending.
struct ScaledRegisters {
  MmaRegisters<word32> matrices;
  std::uint32_t scales_a = 0, scales_b = 0;
};

// clang-format off
// row(function, PTX's name after "mma.sync.aligned.")
//
// mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
// mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
// mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3
#define BINADE_SCALED_TABLE(row) \
  BINADE_MXF8F6F4_OF(row, e4m3) BINADE_MXF8F6F4_OF(row, e5m2) BINADE_MXF8F6F4_OF(row, e3m2) \
  BINADE_MXF8F6F4_OF(row, e2m3) BINADE_MXF8F6F4_OF(row, e2m1) \
  row(mma_m16n8k64_mxf4_ue8m0, \
      "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0") \
  row(mma_m16n8k64_mxf4nvf4_ue8m0, \
      "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0") \
  row(mma_m16n8k64_mxf4nvf4_ue4m3, \
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
  row(mma_m16n8k32_mxf8f6f4_##a##_##b, \
      "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32." #a "." #b ".f32.ue8m0")
// clang-format on

#define BINADE_SCALED_WRAPPER(name, text)                                                          \
  __device__ inline bool name([[maybe_unused]] ScaledRegisters& x) {                               \
    BINADE_ON(120a,                                                                                \
              asm volatile("mma.sync.aligned." text " " BINADE_OPERANDS_4424                       \
                           ", %14, {0, 0}, %15, {0, 0};"                                           \
                           : BINADE_LIST_4("=r", x.matrices.d)                                     \
                           : BINADE_LIST_4("r", x.matrices.a), BINADE_LIST_2("r", x.matrices.b),   \
                             BINADE_LIST_4("r", x.matrices.c), "r"(x.scales_a), "r"(x.scales_b))); \
  }
BINADE_SCALED_TABLE(BINADE_SCALED_WRAPPER)

}  // namespace binade
