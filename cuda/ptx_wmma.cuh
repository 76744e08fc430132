// SPDX-License-Identifier: Apache-2.0
//
// PTX's wmma: tables of its loads, stores and products. Each row becomes a function with one asm
// statement that executes one instruction and returns true; below sm_80 it returns false. a, c and
// d lie in memory row after row, b column after column, all at generic addresses. Above each macro
// that makes rows are PTX's names of its instructions; for products, binade's name stands before
// PTX's.
#pragma once

#include "cuda/ptx_operands.cuh"
#include "cuda/wmma_tiles.cuh"

namespace binade {

// The operands of loads and stores: a vector of registers, an address and a leading dimension in
// elements.
#define BINADE_WMMA_LOADED_1 "{%0}, [%1], %2;"
#define BINADE_WMMA_LOADED_2 "{%0, %1}, [%2], %3;"
#define BINADE_WMMA_LOADED_4 "{%0, %1, %2, %3}, [%4], %5;"
#define BINADE_WMMA_LOADED_8 "{%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
#define BINADE_WMMA_STORED_2 "[%2], {%0, %1}, %3;"
#define BINADE_WMMA_STORED_4 "[%4], {%0, %1, %2, %3}, %5;"
#define BINADE_WMMA_STORED_8 "[%8], {%0, %1, %2, %3, %4, %5, %6, %7}, %9;"

// clang-format off
// line(matrix, layout, shape, type, type of a register, registers)
//
// wmma.load.a.sync.aligned.row.m16n16k16.f16 wmma.load.b.sync.aligned.col.m16n16k16.f16
// wmma.load.a.sync.aligned.row.m32n8k16.f16 wmma.load.b.sync.aligned.col.m32n8k16.f16
// wmma.load.a.sync.aligned.row.m8n32k16.f16 wmma.load.b.sync.aligned.col.m8n32k16.f16
// wmma.load.a.sync.aligned.row.m16n16k16.bf16 wmma.load.b.sync.aligned.col.m16n16k16.bf16
// wmma.load.a.sync.aligned.row.m32n8k16.bf16 wmma.load.b.sync.aligned.col.m32n8k16.bf16
// wmma.load.a.sync.aligned.row.m8n32k16.bf16 wmma.load.b.sync.aligned.col.m8n32k16.bf16
// wmma.load.a.sync.aligned.row.m16n16k8.tf32 wmma.load.b.sync.aligned.col.m16n16k8.tf32
// wmma.load.a.sync.aligned.row.m8n8k4.f64 wmma.load.b.sync.aligned.col.m8n8k4.f64
#define BINADE_WMMA_LOADS(line) \
  line(a, row, m16n16k16, f16, word32, 8) line(b, col, m16n16k16, f16, word32, 8) \
  line(a, row, m32n8k16, f16, word32, 8) line(b, col, m32n8k16, f16, word32, 8) \
  line(a, row, m8n32k16, f16, word32, 8) line(b, col, m8n32k16, f16, word32, 8) \
  line(a, row, m16n16k16, bf16, word32, 4) line(b, col, m16n16k16, bf16, word32, 4) \
  line(a, row, m32n8k16, bf16, word32, 8) line(b, col, m32n8k16, bf16, word32, 2) \
  line(a, row, m8n32k16, bf16, word32, 2) line(b, col, m8n32k16, bf16, word32, 8) \
  line(a, row, m16n16k8, tf32, word32, 4) line(b, col, m16n16k8, tf32, word32, 4) \
  line(a, row, m8n8k4, f64, word64, 1) line(b, col, m8n8k4, f64, word64, 1) \
  BINADE_WMMA_ACCUMULATORS(line, c)
#define BINADE_WMMA_STORES(line) BINADE_WMMA_ACCUMULATORS(line, d)
// wmma.load.c.sync.aligned.row.m16n16k16.f16 wmma.store.d.sync.aligned.row.m16n16k16.f16
// wmma.load.c.sync.aligned.row.m16n16k16.f32 wmma.store.d.sync.aligned.row.m16n16k16.f32
// wmma.load.c.sync.aligned.row.m32n8k16.f16 wmma.store.d.sync.aligned.row.m32n8k16.f16
// wmma.load.c.sync.aligned.row.m32n8k16.f32 wmma.store.d.sync.aligned.row.m32n8k16.f32
// wmma.load.c.sync.aligned.row.m8n32k16.f16 wmma.store.d.sync.aligned.row.m8n32k16.f16
// wmma.load.c.sync.aligned.row.m8n32k16.f32 wmma.store.d.sync.aligned.row.m8n32k16.f32
// wmma.load.c.sync.aligned.row.m16n16k8.f32 wmma.store.d.sync.aligned.row.m16n16k8.f32
// wmma.load.c.sync.aligned.row.m8n8k4.f64 wmma.store.d.sync.aligned.row.m8n8k4.f64
#define BINADE_WMMA_ACCUMULATORS(line, matrix) \
  line(matrix, row, m16n16k16, f16, word32, 4) line(matrix, row, m16n16k16, f32, word32, 8) \
  line(matrix, row, m32n8k16, f16, word32, 4) line(matrix, row, m32n8k16, f32, word32, 8) \
  line(matrix, row, m8n32k16, f16, word32, 4) line(matrix, row, m8n32k16, f32, word32, 8) \
  line(matrix, row, m16n16k8, f32, word32, 8) line(matrix, row, m8n8k4, f64, word64, 2)

// line(function, type of a register, shape, m, n, k, type of a and b, type of c, type of d, registers of
//     d, a, b and c, Variant of tile_kernels.h, PTX's name after "wmma.mma.sync.aligned.row.col.")
//
// wmma.m16n16k8.f32.tf32.tf32.f32 wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32
#define BINADE_WMMA_TABLE(line) \
  BINADE_WMMA_F16(line, m16n16k16, 16, 16) BINADE_WMMA_F16(line, m32n8k16, 32, 8) \
  BINADE_WMMA_F16(line, m8n32k16, 8, 32) \
  BINADE_WMMA_BF16(line, m16n16k16, 16, 16, 4, 4) BINADE_WMMA_BF16(line, m32n8k16, 32, 8, 8, 2) \
  BINADE_WMMA_BF16(line, m8n32k16, 8, 32, 2, 8) \
  line(wmma_m16n16k8_f32_tf32, word32, m16n16k8, 16, 16, 8, tf32, f32, f32, 8, 4, 4, 8, \
      plain, "m16n16k8.f32.tf32.tf32.f32") \
  BINADE_WMMA_F64(line, rn) BINADE_WMMA_F64(line, rz) \
  BINADE_WMMA_F64(line, rm) BINADE_WMMA_F64(line, rp)
// wmma.m16n16k16.f32.f16.f16.f32 wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32
// wmma.m16n16k16.f32.f16.f16.f16 wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16
// wmma.m16n16k16.f16.f16.f16.f32 wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32
// wmma.m16n16k16.f16.f16.f16.f16 wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16
// wmma.m32n8k16.f32.f16.f16.f32 wmma.mma.sync.aligned.row.col.m32n8k16.f32.f32
// wmma.m32n8k16.f32.f16.f16.f16 wmma.mma.sync.aligned.row.col.m32n8k16.f32.f16
// wmma.m32n8k16.f16.f16.f16.f32 wmma.mma.sync.aligned.row.col.m32n8k16.f16.f32
// wmma.m32n8k16.f16.f16.f16.f16 wmma.mma.sync.aligned.row.col.m32n8k16.f16.f16
// wmma.m8n32k16.f32.f16.f16.f32 wmma.mma.sync.aligned.row.col.m8n32k16.f32.f32
// wmma.m8n32k16.f32.f16.f16.f16 wmma.mma.sync.aligned.row.col.m8n32k16.f32.f16
// wmma.m8n32k16.f16.f16.f16.f32 wmma.mma.sync.aligned.row.col.m8n32k16.f16.f32
// wmma.m8n32k16.f16.f16.f16.f16 wmma.mma.sync.aligned.row.col.m8n32k16.f16.f16
#define BINADE_WMMA_F16(line, shape, m, n) \
  line(wmma_##shape##_f32_f32, word32, shape, m, n, 16, f16, f32, f32, 8, 8, 8, 8, plain, \
      #shape ".f32.f32") \
  line(wmma_##shape##_f32_f16, word32, shape, m, n, 16, f16, f16, f32, 8, 8, 8, 4, plain, \
      #shape ".f32.f16") \
  line(wmma_##shape##_f16_f32, word32, shape, m, n, 16, f16, f32, f16, 4, 8, 8, 8, plain, \
      #shape ".f16.f32") \
  line(wmma_##shape##_f16_f16, word32, shape, m, n, 16, f16, f16, f16, 4, 8, 8, 4, plain, \
      #shape ".f16.f16")
// wmma.m16n16k16.f32.bf16.bf16.f32 wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32
// wmma.m32n8k16.f32.bf16.bf16.f32 wmma.mma.sync.aligned.row.col.m32n8k16.f32.bf16.bf16.f32
// wmma.m8n32k16.f32.bf16.bf16.f32 wmma.mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32
#define BINADE_WMMA_BF16(line, shape, m, n, na, nb) \
  line(wmma_##shape##_f32_bf16, word32, shape, m, n, 16, bf16, f32, f32, 8, na, nb, 8, \
      plain, #shape ".f32.bf16.bf16.f32")
// wmma.m8n8k4.f64.f64.f64.f64 wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64
// wmma.m8n8k4.rz.f64.f64.f64.f64 wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64
// wmma.m8n8k4.rm.f64.f64.f64.f64 wmma.mma.sync.aligned.row.col.m8n8k4.rm.f64.f64.f64.f64
// wmma.m8n8k4.rp.f64.f64.f64.f64 wmma.mma.sync.aligned.row.col.m8n8k4.rp.f64.f64.f64.f64
#define BINADE_WMMA_F64(line, rnd) \
  line(wmma_m8n8k4_##rnd##_f64, word64, m8n8k4, 8, 8, 4, f64, f64, f64, 2, 1, 1, 2, rnd, \
      "m8n8k4." #rnd ".f64.f64.f64.f64")
// clang-format on

#define BINADE_WMMA_LOAD(matrix, layout, shape, type, word, registers)                            \
  __device__ inline bool wmma_load_##matrix##_##shape##_##type(                                   \
      [[maybe_unused]] WmmaFragments<word>& x, [[maybe_unused]] const void* from,                 \
      [[maybe_unused]] int leading) {                                                             \
    BINADE_ON(80, asm volatile("wmma.load." #matrix ".sync.aligned." #layout "." #shape "." #type \
                               " " BINADE_WMMA_LOADED_##registers                                 \
                               : BINADE_LIST(registers, "=" BINADE_LETTER_##word, x.matrix)       \
                               : "l"(from), "r"(leading)                                          \
                               : "memory"));                                                      \
  }
BINADE_WMMA_LOADS(BINADE_WMMA_LOAD)

#define BINADE_WMMA_STORE(matrix, layout, shape, type, word, registers)                            \
  __device__ inline bool wmma_store_##matrix##_##shape##_##type(                                   \
      [[maybe_unused]] const WmmaFragments<word>& x, [[maybe_unused]] void* to,                    \
      [[maybe_unused]] int leading) {                                                              \
    BINADE_ON(80, asm volatile("wmma.store." #matrix ".sync.aligned." #layout "." #shape "." #type \
                               " " BINADE_WMMA_STORED_##registers ::BINADE_LIST(                   \
                                   registers, BINADE_LETTER_##word, x.matrix),                     \
                               "l"(to), "r"(leading)                                               \
                               : "memory"));                                                       \
  }
BINADE_WMMA_STORES(BINADE_WMMA_STORE)

#define BINADE_WMMA_WRAPPER(name, word, shape, m, n, k, ab, tc, td, nd, na, nb, nc, rounding, \
                            text)                                                             \
  __device__ inline bool name([[maybe_unused]] WmmaFragments<word>& x) {                      \
    BINADE_ON(80, asm volatile("wmma.mma.sync.aligned.row.col." text                          \
                               " " BINADE_OPERANDS_##nd##na##nb##nc ";"                       \
                               : BINADE_LIST(nd, "=" BINADE_LETTER_##word, x.d)               \
                               : BINADE_LIST(na, BINADE_LETTER_##word, x.a),                  \
                                 BINADE_LIST(nb, BINADE_LETTER_##word, x.b),                  \
                                 BINADE_LIST(nc, BINADE_LETTER_##word, x.c)));                \
  }
BINADE_WMMA_TABLE(BINADE_WMMA_WRAPPER)

}  // namespace binade
