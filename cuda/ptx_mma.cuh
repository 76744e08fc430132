// SPDX-License-Identifier: Apache-2.0
//
// PTX's mma.sync m16n8: one wrapper per instruction, of PTX's own name with one asm line, on the
// registers of a lane. c and d are the same registers. What the compiled architecture lacks does
// nothing.
#pragma once

#include <cstdint>

#include "emulate/format.h"

namespace binade {

/// The registers of a lane; an instruction uses the first ones of each.
struct MmaRegisters {
  std::uint32_t a[4]{}, b[2]{};
  float f32[4]{};          ///< c and d in f32
  std::uint32_t f16[2]{};  ///< or in f16, two each
};

#define BINADE_MMA_F32_4(name, arch, text)                                                         \
  __device__ inline void name(MmaRegisters& x) {                                                   \
    BINADE_IF_ARCH(                                                                                \
        arch, asm("mma.sync.aligned." text                                                         \
                  " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"               \
                  : "+f"(x.f32[0]), "+f"(x.f32[1]), "+f"(x.f32[2]), "+f"(x.f32[3])                 \
                  : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]))) \
  }
#define BINADE_MMA_F32_2(name, arch, text)                                                        \
  __device__ inline void name(MmaRegisters& x) {                                                  \
    BINADE_IF_ARCH(                                                                               \
        arch, asm("mma.sync.aligned." text " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" \
                  : "+f"(x.f32[0]), "+f"(x.f32[1]), "+f"(x.f32[2]), "+f"(x.f32[3])                \
                  : "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0])))                                       \
  }
#define BINADE_MMA_F16_4(name, arch, text)                                                         \
  __device__ inline void name(MmaRegisters& x) {                                                   \
    BINADE_IF_ARCH(                                                                                \
        arch, asm("mma.sync.aligned." text " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"      \
                  : "+r"(x.f16[0]), "+r"(x.f16[1])                                                 \
                  : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]))) \
  }
#define BINADE_MMA_F16_2(name, arch, text)                                                   \
  __device__ inline void name(MmaRegisters& x) {                                             \
    BINADE_IF_ARCH(arch, asm("mma.sync.aligned." text " {%0, %1}, {%2, %3}, {%4}, {%0, %1};" \
                             : "+r"(x.f16[0]), "+r"(x.f16[1])                                \
                             : "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0])))                       \
  }

#define BINADE_IF_ARCH(arch, statement) BINADE_IF_ARCH_##arch(statement)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define BINADE_IF_ARCH_80(statement) statement;
#else
#define BINADE_IF_ARCH_80(statement) (void)x;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define BINADE_IF_ARCH_89(statement) statement;
#else
#define BINADE_IF_ARCH_89(statement) (void)x;
#endif

// clang-format off
#define BINADE_FP8(row)                                  \
  row(e4m3_e4m3, "e4m3.e4m3", e4m3, e4m3)                \
  row(e4m3_e5m2, "e4m3.e5m2", e4m3, e5m2)                \
  row(e5m2_e4m3, "e5m2.e4m3", e5m2, e4m3)                \
  row(e5m2_e5m2, "e5m2.e5m2", e5m2, e5m2)
// clang-format on

BINADE_MMA_F32_2(mma_m16n8k8_f32_f16, 80, "m16n8k8.row.col.f32.f16.f16.f32")
BINADE_MMA_F32_4(mma_m16n8k16_f32_f16, 80, "m16n8k16.row.col.f32.f16.f16.f32")
BINADE_MMA_F16_2(mma_m16n8k8_f16_f16, 80, "m16n8k8.row.col.f16.f16.f16.f16")
BINADE_MMA_F16_4(mma_m16n8k16_f16_f16, 80, "m16n8k16.row.col.f16.f16.f16.f16")
BINADE_MMA_F32_2(mma_m16n8k8_f32_bf16, 80, "m16n8k8.row.col.f32.bf16.bf16.f32")
BINADE_MMA_F32_4(mma_m16n8k16_f32_bf16, 80, "m16n8k16.row.col.f32.bf16.bf16.f32")
BINADE_MMA_F32_2(mma_m16n8k4_f32_tf32, 80, "m16n8k4.row.col.f32.tf32.tf32.f32")
BINADE_MMA_F32_4(mma_m16n8k8_f32_tf32, 80, "m16n8k8.row.col.f32.tf32.tf32.f32")
#define BINADE_FP8_WRAPPERS(name, types, a, b)                                        \
  BINADE_MMA_F32_2(mma_m16n8k16_f32_##name, 89, "m16n8k16.row.col.f32." types ".f32") \
  BINADE_MMA_F32_4(mma_m16n8k32_f32_##name, 89, "m16n8k32.row.col.f32." types ".f32") \
  BINADE_MMA_F16_2(mma_m16n8k16_f16_##name, 89, "m16n8k16.row.col.f16." types ".f16") \
  BINADE_MMA_F16_4(mma_m16n8k32_f16_##name, 89, "m16n8k32.row.col.f16." types ".f16")
BINADE_FP8(BINADE_FP8_WRAPPERS)
#undef BINADE_FP8_WRAPPERS

}  // namespace binade
