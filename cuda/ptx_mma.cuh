// SPDX-License-Identifier: Apache-2.0
//
// PTX's mma.sync, dense and without block scales. Each row of BINADE_MMA_TABLE becomes a function
// with one asm statement that executes one instruction on the registers of a lane and returns true;
// where the compiled architecture lacks the instruction, it does nothing and returns false. A line
// per instruction, above the macros that list it, has binade's name and PTX's name, for whoever
// searches.
#pragma once

#include "cuda/mma_tiles.cuh"
#include "cuda/ptx_operands.cuh"

namespace binade {

// clang-format off
// row(function, architecture for BINADE_ON, type of a register, lane map of mma_lanes.h, registers of
//     d, a, b and c, elements in a register of d and of c, m, k, formats of d, a, b and c, Variant of
//     tile_kernels.h, PTX's name after "mma.sync.aligned.")
//
// mma.m8n8k4.f32.f16.f16.f32 mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32
// mma.m8n8k4.f32.f16.f16.f16 mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16
// mma.m8n8k4.f16.f16.f16.f16 mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16
// mma.m16n8k8.f32.f16.f16.f32 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
// mma.m16n8k16.f32.f16.f16.f32 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// mma.m16n8k8.f16.f16.f16.f16 mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16
// mma.m16n8k16.f16.f16.f16.f16 mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16
// mma.m16n8k8.f32.bf16.bf16.f32 mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32
// mma.m16n8k16.f32.bf16.bf16.f32 mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// mma.m16n8k4.f32.tf32.tf32.f32 mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32
// mma.m16n8k8.f32.tf32.tf32.f32 mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// mma.m16n8k256.s32.b1.b1.s32.and.popc mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc
// mma.m16n8k256.s32.b1.b1.s32.xor.popc mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc
#define BINADE_MMA_TABLE(row) \
  row(mma_m8n8k4_f32_f16_f32, 80, word32, QuadpairLanes, 8, 2, 2, 8, 1, 1, \
      8, 4, binary32, binary16, binary16, binary32, plain, "m8n8k4.row.col.f32.f16.f16.f32") \
  row(mma_m8n8k4_f32_f16_f16, 80, word32, QuadpairLanes, 8, 2, 2, 4, 1, 2, \
      8, 4, binary32, binary16, binary16, binary16, plain, "m8n8k4.row.col.f32.f16.f16.f16") \
  row(mma_m8n8k4_f16_f16_f16, 80, word32, QuadpairLanes, 4, 2, 2, 4, 2, 2, \
      8, 4, binary16, binary16, binary16, binary16, plain, "m8n8k4.row.col.f16.f16.f16.f16") \
  BINADE_MMA_F64(row, rn) BINADE_MMA_F64(row, rz) BINADE_MMA_F64(row, rm) BINADE_MMA_F64(row, rp) \
  BINADE_MMA_F32(row, mma_m16n8k8_f32_f16, 80, 4214, 8, binary16, binary16, \
                 "m16n8k8.row.col.f32.f16.f16.f32") \
  BINADE_MMA_F32(row, mma_m16n8k16_f32_f16, 80, 4424, 16, binary16, binary16, \
                 "m16n8k16.row.col.f32.f16.f16.f32") \
  BINADE_MMA_F16(row, mma_m16n8k8_f16_f16, 80, 2212, 8, binary16, binary16, \
                 "m16n8k8.row.col.f16.f16.f16.f16") \
  BINADE_MMA_F16(row, mma_m16n8k16_f16_f16, 80, 2422, 16, binary16, binary16, \
                 "m16n8k16.row.col.f16.f16.f16.f16") \
  BINADE_MMA_F32(row, mma_m16n8k8_f32_bf16, 80, 4214, 8, bfloat16, bfloat16, \
                 "m16n8k8.row.col.f32.bf16.bf16.f32") \
  BINADE_MMA_F32(row, mma_m16n8k16_f32_bf16, 80, 4424, 16, bfloat16, bfloat16, \
                 "m16n8k16.row.col.f32.bf16.bf16.f32") \
  BINADE_MMA_F32(row, mma_m16n8k4_f32_tf32, 80, 4214, 4, tf32, tf32, \
                 "m16n8k4.row.col.f32.tf32.tf32.f32") \
  BINADE_MMA_F32(row, mma_m16n8k8_f32_tf32, 80, 4424, 8, tf32, tf32, \
                 "m16n8k8.row.col.f32.tf32.tf32.f32") \
  BINADE_MMA_FP8(row, e4m3, e4m3) BINADE_MMA_FP8(row, e4m3, e5m2) \
  BINADE_MMA_FP8(row, e5m2, e4m3) BINADE_MMA_FP8(row, e5m2, e5m2) \
  BINADE_MMA_F8F6F4(row, e4m3, e3m2) BINADE_MMA_F8F6F4(row, e4m3, e2m3) \
  BINADE_MMA_F8F6F4(row, e4m3, e2m1) BINADE_MMA_F8F6F4(row, e5m2, e3m2) \
  BINADE_MMA_F8F6F4(row, e5m2, e2m3) BINADE_MMA_F8F6F4(row, e5m2, e2m1) \
  BINADE_MMA_F8F6F4(row, e3m2, e4m3) BINADE_MMA_F8F6F4(row, e3m2, e5m2) \
  BINADE_MMA_F8F6F4(row, e3m2, e3m2) BINADE_MMA_F8F6F4(row, e3m2, e2m3) \
  BINADE_MMA_F8F6F4(row, e3m2, e2m1) BINADE_MMA_F8F6F4(row, e2m3, e4m3) \
  BINADE_MMA_F8F6F4(row, e2m3, e5m2) BINADE_MMA_F8F6F4(row, e2m3, e3m2) \
  BINADE_MMA_F8F6F4(row, e2m3, e2m3) BINADE_MMA_F8F6F4(row, e2m3, e2m1) \
  BINADE_MMA_F8F6F4(row, e2m1, e4m3) BINADE_MMA_F8F6F4(row, e2m1, e5m2) \
  BINADE_MMA_F8F6F4(row, e2m1, e3m2) BINADE_MMA_F8F6F4(row, e2m1, e2m3) \
  BINADE_MMA_F8F6F4(row, e2m1, e2m1) \
  BINADE_MMA_INT8(row, s8, s8) BINADE_MMA_INT8(row, s8, u8) \
  BINADE_MMA_INT8(row, u8, s8) BINADE_MMA_INT8(row, u8, u8) \
  BINADE_MMA_INT4(row, s4, s4) BINADE_MMA_INT4(row, s4, u4) \
  BINADE_MMA_INT4(row, u4, s4) BINADE_MMA_INT4(row, u4, u4) \
  BINADE_MMA_S32(row, mma_m16n8k256_s32_b1_and_popc, 4424, 256, b1, b1, and_popc, \
                 "m16n8k256.row.col.s32.b1.b1.s32.and.popc") \
  BINADE_MMA_S32(row, mma_m16n8k256_s32_b1_xor_popc, 4424, 256, b1, b1, xor_popc, \
                 "m16n8k256.row.col.s32.b1.b1.s32.xor.popc")

#define BINADE_MMA_F32(row, name, arch, registers, k, a, b, text) \
  row(name, arch, word32, M16n8Lanes, BINADE_COUNTS_##registers, 1, 1, \
      16, k, binary32, a, b, binary32, plain, text)
#define BINADE_MMA_F16(row, name, arch, registers, k, a, b, text) \
  row(name, arch, word32, M16n8Lanes, BINADE_COUNTS_##registers, 2, 2, \
      16, k, binary16, a, b, binary16, plain, text)
#define BINADE_MMA_S32(row, name, registers, k, a, b, variant, text) \
  row(name, 80, word32, M16n8Lanes, BINADE_COUNTS_##registers, 1, 1, \
      16, k, s32, a, b, s32, variant, text)
// mma.m8n8k4.f64.f64.f64.f64 mma.sync.aligned.m8n8k4.row.col.rn.f64.f64.f64.f64
// mma.m16n8k4.f64.f64.f64.f64 mma.sync.aligned.m16n8k4.row.col.rn.f64.f64.f64.f64
// mma.m16n8k8.f64.f64.f64.f64 mma.sync.aligned.m16n8k8.row.col.rn.f64.f64.f64.f64
// mma.m16n8k16.f64.f64.f64.f64 mma.sync.aligned.m16n8k16.row.col.rn.f64.f64.f64.f64
// mma.m8n8k4.rz.f64.f64.f64.f64 mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64
// mma.m16n8k4.rz.f64.f64.f64.f64 mma.sync.aligned.m16n8k4.row.col.rz.f64.f64.f64.f64
// mma.m16n8k8.rz.f64.f64.f64.f64 mma.sync.aligned.m16n8k8.row.col.rz.f64.f64.f64.f64
// mma.m16n8k16.rz.f64.f64.f64.f64 mma.sync.aligned.m16n8k16.row.col.rz.f64.f64.f64.f64
// mma.m8n8k4.rm.f64.f64.f64.f64 mma.sync.aligned.m8n8k4.row.col.rm.f64.f64.f64.f64
// mma.m16n8k4.rm.f64.f64.f64.f64 mma.sync.aligned.m16n8k4.row.col.rm.f64.f64.f64.f64
// mma.m16n8k8.rm.f64.f64.f64.f64 mma.sync.aligned.m16n8k8.row.col.rm.f64.f64.f64.f64
// mma.m16n8k16.rm.f64.f64.f64.f64 mma.sync.aligned.m16n8k16.row.col.rm.f64.f64.f64.f64
// mma.m8n8k4.rp.f64.f64.f64.f64 mma.sync.aligned.m8n8k4.row.col.rp.f64.f64.f64.f64
// mma.m16n8k4.rp.f64.f64.f64.f64 mma.sync.aligned.m16n8k4.row.col.rp.f64.f64.f64.f64
// mma.m16n8k8.rp.f64.f64.f64.f64 mma.sync.aligned.m16n8k8.row.col.rp.f64.f64.f64.f64
// mma.m16n8k16.rp.f64.f64.f64.f64 mma.sync.aligned.m16n8k16.row.col.rp.f64.f64.f64.f64
#define BINADE_MMA_F64(row, rnd) \
  BINADE_MMA_F64_OF(row, mma_m8n8k4_##rnd##_f64, 80, 2112, 8, 4, rnd, "m8n8k4.row.col." #rnd) \
  BINADE_MMA_F64_OF(row, mma_m16n8k4_##rnd##_f64, 90, 4214, 16, 4, rnd, "m16n8k4.row.col." #rnd) \
  BINADE_MMA_F64_OF(row, mma_m16n8k8_##rnd##_f64, 90, 4424, 16, 8, rnd, "m16n8k8.row.col." #rnd) \
  BINADE_MMA_F64_OF(row, mma_m16n8k16_##rnd##_f64, 90, 4844, 16, 16, rnd, \
                    "m16n8k16.row.col." #rnd)
#define BINADE_MMA_F64_OF(row, name, arch, registers, m, k, rnd, text) \
  row(name, arch, word64, M16n8Lanes, BINADE_COUNTS_##registers, 1, 1, \
      m, k, binary64, binary64, binary64, binary64, rnd, text ".f64.f64.f64.f64")
// mma.m16n8k16.f32.e4m3.e4m3.f32 mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32
// mma.m16n8k32.f32.e4m3.e4m3.f32 mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32
// mma.m16n8k16.f16.e4m3.e4m3.f16 mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e4m3.f16
// mma.m16n8k32.f16.e4m3.e4m3.f16 mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16
// mma.m16n8k16.f32.e4m3.e5m2.f32 mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32
// mma.m16n8k32.f32.e4m3.e5m2.f32 mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32
// mma.m16n8k16.f16.e4m3.e5m2.f16 mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e5m2.f16
// mma.m16n8k32.f16.e4m3.e5m2.f16 mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16
// mma.m16n8k16.f32.e5m2.e4m3.f32 mma.sync.aligned.m16n8k16.row.col.f32.e5m2.e4m3.f32
// mma.m16n8k32.f32.e5m2.e4m3.f32 mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32
// mma.m16n8k16.f16.e5m2.e4m3.f16 mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16
// mma.m16n8k32.f16.e5m2.e4m3.f16 mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e4m3.f16
// mma.m16n8k16.f32.e5m2.e5m2.f32 mma.sync.aligned.m16n8k16.row.col.f32.e5m2.e5m2.f32
// mma.m16n8k32.f32.e5m2.e5m2.f32 mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32
// mma.m16n8k16.f16.e5m2.e5m2.f16 mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16
// mma.m16n8k32.f16.e5m2.e5m2.f16 mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e5m2.f16
#define BINADE_MMA_FP8(row, a, b) \
  BINADE_MMA_F32(row, mma_m16n8k16_f32_##a##_##b, 89, 4214, 16, a, b, \
                 "m16n8k16.row.col.f32." #a "." #b ".f32") \
  BINADE_MMA_F32(row, mma_m16n8k32_f32_##a##_##b, 89, 4424, 32, a, b, \
                 "m16n8k32.row.col.f32." #a "." #b ".f32") \
  BINADE_MMA_F16(row, mma_m16n8k16_f16_##a##_##b, 89, 2212, 16, a, b, \
                 "m16n8k16.row.col.f16." #a "." #b ".f16") \
  BINADE_MMA_F16(row, mma_m16n8k32_f16_##a##_##b, 89, 2422, 32, a, b, \
                 "m16n8k32.row.col.f16." #a "." #b ".f16")
// mma.m16n8k32.f32.e4m3.e3m2.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e3m2.f32
// mma.m16n8k32.f16.e4m3.e3m2.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e4m3.e3m2.f16
// mma.m16n8k32.f32.e4m3.e2m3.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m3.f32
// mma.m16n8k32.f16.e4m3.e2m3.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e4m3.e2m3.f16
// mma.m16n8k32.f32.e4m3.e2m1.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32
// mma.m16n8k32.f16.e4m3.e2m1.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e4m3.e2m1.f16
// mma.m16n8k32.f32.e5m2.e3m2.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e5m2.e3m2.f32
// mma.m16n8k32.f16.e5m2.e3m2.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e5m2.e3m2.f16
// mma.m16n8k32.f32.e5m2.e2m3.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e5m2.e2m3.f32
// mma.m16n8k32.f16.e5m2.e2m3.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e5m2.e2m3.f16
// mma.m16n8k32.f32.e5m2.e2m1.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e5m2.e2m1.f32
// mma.m16n8k32.f16.e5m2.e2m1.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e5m2.e2m1.f16
// mma.m16n8k32.f32.e3m2.e4m3.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e4m3.f32
// mma.m16n8k32.f16.e3m2.e4m3.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e3m2.e4m3.f16
// mma.m16n8k32.f32.e3m2.e5m2.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e5m2.f32
// mma.m16n8k32.f16.e3m2.e5m2.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e3m2.e5m2.f16
// mma.m16n8k32.f32.e3m2.e3m2.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e3m2.f32
// mma.m16n8k32.f16.e3m2.e3m2.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e3m2.e3m2.f16
// mma.m16n8k32.f32.e3m2.e2m3.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32
// mma.m16n8k32.f16.e3m2.e2m3.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e3m2.e2m3.f16
// mma.m16n8k32.f32.e3m2.e2m1.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32
// mma.m16n8k32.f16.e3m2.e2m1.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e3m2.e2m1.f16
// mma.m16n8k32.f32.e2m3.e4m3.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e4m3.f32
// mma.m16n8k32.f16.e2m3.e4m3.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e4m3.f16
// mma.m16n8k32.f32.e2m3.e5m2.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e5m2.f32
// mma.m16n8k32.f16.e2m3.e5m2.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e5m2.f16
// mma.m16n8k32.f32.e2m3.e3m2.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e3m2.f32
// mma.m16n8k32.f16.e2m3.e3m2.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e3m2.f16
// mma.m16n8k32.f32.e2m3.e2m3.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m3.f32
// mma.m16n8k32.f16.e2m3.e2m3.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e2m3.f16
// mma.m16n8k32.f32.e2m3.e2m1.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m1.f32
// mma.m16n8k32.f16.e2m3.e2m1.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e2m1.f16
// mma.m16n8k32.f32.e2m1.e4m3.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32
// mma.m16n8k32.f16.e2m1.e4m3.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e4m3.f16
// mma.m16n8k32.f32.e2m1.e5m2.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e5m2.f32
// mma.m16n8k32.f16.e2m1.e5m2.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e5m2.f16
// mma.m16n8k32.f32.e2m1.e3m2.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32
// mma.m16n8k32.f16.e2m1.e3m2.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e3m2.f16
// mma.m16n8k32.f32.e2m1.e2m3.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m3.f32
// mma.m16n8k32.f16.e2m1.e2m3.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e2m3.f16
// mma.m16n8k32.f32.e2m1.e2m1.f32 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32
// mma.m16n8k32.f16.e2m1.e2m1.f16 mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e2m1.f16
#define BINADE_MMA_F8F6F4(row, a, b) \
  BINADE_MMA_F32(row, mma_m16n8k32_f32_##a##_##b, 120a, 4424, 32, a, b, \
                 "m16n8k32.row.col.kind::f8f6f4.f32." #a "." #b ".f32") \
  BINADE_MMA_F16(row, mma_m16n8k32_f16_##a##_##b, 120a, 2422, 32, a, b, \
                 "m16n8k32.row.col.kind::f8f6f4.f16." #a "." #b ".f16")
// mma.m16n8k16.s32.s8.s8.s32 mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32
// mma.m16n8k16.satfinite.s32.s8.s8.s32 mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32
// mma.m16n8k32.s32.s8.s8.s32 mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
// mma.m16n8k32.satfinite.s32.s8.s8.s32 mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32
// mma.m16n8k16.s32.s8.u8.s32 mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32
// mma.m16n8k16.satfinite.s32.s8.u8.s32 mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32
// mma.m16n8k32.s32.s8.u8.s32 mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32
// mma.m16n8k32.satfinite.s32.s8.u8.s32 mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32
// mma.m16n8k16.s32.u8.s8.s32 mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32
// mma.m16n8k16.satfinite.s32.u8.s8.s32 mma.sync.aligned.m16n8k16.row.col.satfinite.s32.u8.s8.s32
// mma.m16n8k32.s32.u8.s8.s32 mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32
// mma.m16n8k32.satfinite.s32.u8.s8.s32 mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32
// mma.m16n8k16.s32.u8.u8.s32 mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32
// mma.m16n8k16.satfinite.s32.u8.u8.s32 mma.sync.aligned.m16n8k16.row.col.satfinite.s32.u8.u8.s32
// mma.m16n8k32.s32.u8.u8.s32 mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32
// mma.m16n8k32.satfinite.s32.u8.u8.s32 mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32
// mma.m16n8k64.s32.s4.s4.s32 mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32
// mma.m16n8k64.satfinite.s32.s4.s4.s32 mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.s4.s32
// mma.m16n8k64.s32.s4.u4.s32 mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32
// mma.m16n8k64.satfinite.s32.s4.u4.s32 mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32
// mma.m16n8k64.s32.u4.s4.s32 mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32
// mma.m16n8k64.satfinite.s32.u4.s4.s32 mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.s4.s32
// mma.m16n8k64.s32.u4.u4.s32 mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32
// mma.m16n8k64.satfinite.s32.u4.u4.s32 mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.u4.s32
#define BINADE_MMA_INT8(row, a, b) \
  BINADE_MMA_INT(row, m16n8k16, 4214, 16, a, b) BINADE_MMA_INT(row, m16n8k32, 4424, 32, a, b)
#define BINADE_MMA_INT4(row, a, b) BINADE_MMA_INT(row, m16n8k64, 4424, 64, a, b)
#define BINADE_MMA_INT(row, shape, registers, k, a, b) \
  BINADE_MMA_S32(row, mma_##shape##_s32_##a##_##b, registers, k, a, b, plain, \
                 #shape ".row.col.s32." #a "." #b ".s32") \
  BINADE_MMA_S32(row, mma_##shape##_satfinite_s32_##a##_##b, registers, k, a, b, satfinite, \
                 #shape ".row.col.satfinite.s32." #a "." #b ".s32")
// clang-format on

#define BINADE_MMA_WRAPPER(name, arch, word, lanes, ...) \
  BINADE_MMA_WRAPPER_OF(name, arch, word, __VA_ARGS__)
#define BINADE_MMA_WRAPPER_OF(name, arch, word, nd, na, nb, nc, per_d, per_c, m, k, fd, fa, fb,    \
                              fc, variant, text)                                                   \
  __device__ inline bool name([[maybe_unused]] MmaRegisters<word>& x) {                            \
    BINADE_ON(arch, asm volatile("mma.sync.aligned." text " " BINADE_OPERANDS_##nd##na##nb##nc ";" \
                                 : BINADE_LIST(nd, "=" BINADE_LETTER_##word, x.d)                  \
                                 : BINADE_LIST(na, BINADE_LETTER_##word, x.a),                     \
                                   BINADE_LIST(nb, BINADE_LETTER_##word, x.b),                     \
                                   BINADE_LIST(nc, BINADE_LETTER_##word, x.c)));                   \
  }
BINADE_MMA_TABLE(BINADE_MMA_WRAPPER)

}  // namespace binade
