// SPDX-License-Identifier: Apache-2.0
//
// PTX's tcgen05 of one CTA, for the Tensor Cores of data-centre Blackwell: one wrapper per instruction,
// of PTX's own name with one asm line, and the two descriptors. sm_100a and sm_103a alone have them;
// elsewhere they return false. They assemble; nobody here has run them.
#pragma once

#include "cuda/ptx_operands.cuh"
#include "cuda/wgmma_layout.h"

namespace binade {

/// As wgmma's, and bits 46–48 are 001 (PTX ISA, "Shared memory descriptor").
constexpr std::uint64_t tcgen05_descriptor(std::uint32_t address, int row_bytes) {
  return wgmma_descriptor(address, row_bytes) | std::uint64_t{1} << 46;
}

/// What types a and b have in an instruction descriptor: kind::f16 and kind::tf32, and the others.
enum class Tcgen05Type : std::uint8_t {
  f16 = 0,
  bf16 = 1,
  tf32 = 2,
  e4m3 = 0,
  e5m2 = 1,
  e2m3 = 3,
  e3m2 = 4,
  e2m1 = 5
};

/// Bits 4–5 d (1: f32), 7–9 a, 10–12 b, 17–22 n / 8, 24–28 m / 16; a and b with k fastest.
constexpr std::uint32_t tcgen05_instruction(Tcgen05Type a, Tcgen05Type b, bool d_f32, int m,
                                            int n) {
  return (d_f32 ? 1U << 4 : 0U) | static_cast<std::uint32_t>(a) << 7 |
         static_cast<std::uint32_t>(b) << 10 | static_cast<std::uint32_t>(n / 8) << 17 |
         static_cast<std::uint32_t>(m / 16) << 24;
}
/// With block scales: bit 23 says what they are (1: ue8m0, 0: ue4m3), and d is f32.
constexpr std::uint32_t tcgen05_scaled_instruction(Tcgen05Type a, Tcgen05Type b, bool ue8m0, int m,
                                                   int n) {
  return tcgen05_instruction(a, b, false, m, n) | (ue8m0 ? 1U << 23 : 0U);
}

/// Addresses in shared memory are 32 bits, in tensor memory lane · 2^16 + column.
struct Tcgen05Operands {
  std::uint32_t d = 0;         ///< in tensor memory
  std::uint64_t a = 0, b = 0;  ///< descriptors
  std::uint32_t instruction = 0;
  std::uint32_t accumulate = 0;              ///< 0: d before is not read
  std::uint32_t scales_a = 0, scales_b = 0;  ///< in tensor memory
};

// An instruction whose operands are an asm line's inputs only.
#define BINADE_TCGEN05(name, parameters, text, ...)               \
  __device__ inline bool name parameters {                        \
    BINADE_ON(100a, asm volatile(text ::__VA_ARGS__ : "memory")); \
  }
#define BINADE_WORD(x) [[maybe_unused]] std::uint32_t x

BINADE_TCGEN05(tcgen05_alloc, (BINADE_WORD(to), BINADE_WORD(columns)),
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;", "r"(to),
               "r"(columns))
BINADE_TCGEN05(tcgen05_relinquish_alloc_permit, ([[maybe_unused]] int),
               "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", )
BINADE_TCGEN05(tcgen05_dealloc, (BINADE_WORD(address), BINADE_WORD(columns)),
               "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;", "r"(address), "r"(columns))
BINADE_TCGEN05(tcgen05_commit, (BINADE_WORD(barrier)),
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];",
               "r"(barrier))
BINADE_TCGEN05(tcgen05_cp, (BINADE_WORD(to), [[maybe_unused]] std::uint64_t from),
               "tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;", "r"(to), "l"(from))
BINADE_TCGEN05(tcgen05_fence_before_thread_sync, ([[maybe_unused]] int),
               "tcgen05.fence::before_thread_sync;", )
BINADE_TCGEN05(tcgen05_fence_after_thread_sync, ([[maybe_unused]] int),
               "tcgen05.fence::after_thread_sync;", )
BINADE_TCGEN05(fence_proxy_async, ([[maybe_unused]] int), "fence.proxy.async.shared::cta;", )
BINADE_TCGEN05(mbarrier_init, (BINADE_WORD(barrier), BINADE_WORD(arrivals)),
               "mbarrier.init.shared::cta.b64 [%0], %1;", "r"(barrier), "r"(arrivals))

// clang-format off
#define BINADE_TCGEN05_MMA_TABLE(row) \
  row(tcgen05_mma_f16, "tcgen05.mma.cta_group::1.kind::f16") \
  row(tcgen05_mma_tf32, "tcgen05.mma.cta_group::1.kind::tf32") \
  row(tcgen05_mma_f8f6f4, "tcgen05.mma.cta_group::1.kind::f8f6f4")
#define BINADE_TCGEN05_SCALED_TABLE(row) \
  row(tcgen05_mma_mxf8f6f4, "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X") \
  row(tcgen05_mma_mxf4, "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X") \
  row(tcgen05_mma_mxf4nvf4, "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X")
// clang-format on

#define BINADE_TCGEN05_MMA(name, mma)                                                            \
  BINADE_TCGEN05(name, ([[maybe_unused]] const Tcgen05Operands& x),                              \
                 "{.reg .pred p; setp.ne.b32 p, %4, 0; " mma " [%0], %1, %2, %3, p;}", "r"(x.d), \
                 "l"(x.a), "l"(x.b), "r"(x.instruction), "r"(x.accumulate))
BINADE_TCGEN05_MMA_TABLE(BINADE_TCGEN05_MMA)

#define BINADE_TCGEN05_SCALED(name, mma)                                                           \
  BINADE_TCGEN05(name, ([[maybe_unused]] const Tcgen05Operands& x),                                \
                 "{.reg .pred p; setp.ne.b32 p, %4, 0; " mma " [%0], %1, %2, %3, [%5], [%6], p;}", \
                 "r"(x.d), "l"(x.a), "l"(x.b), "r"(x.instruction), "r"(x.accumulate),              \
                 "r"(x.scales_a), "r"(x.scales_b))
BINADE_TCGEN05_SCALED_TABLE(BINADE_TCGEN05_SCALED)

/// 16 columns of a lane, for each thread of a warp.
__device__ inline bool tcgen05_ld_32x32b_x16([[maybe_unused]] std::uint32_t (&d)[16],
                                             BINADE_WORD(from)) {
  BINADE_ON(100a,
            asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, "
                         "%7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
                         : BINADE_LIST_8("=r", d), "=r"(d[8]), "=r"(d[9]), "=r"(d[10]), "=r"(d[11]),
                           "=r"(d[12]), "=r"(d[13]), "=r"(d[14]), "=r"(d[15])
                         : "r"(from)
                         : "memory"));
}
/// Passes what was loaded through, so that the compiler moves no use of it before.
__device__ inline bool tcgen05_wait_ld([[maybe_unused]] std::uint32_t (&d)[16]) {
  BINADE_ON(100a, asm volatile("tcgen05.wait::ld.sync.aligned;"
                               : BINADE_LIST_8("+r", d), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]),
                                 "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
                               :
                               : "memory"));
}
__device__ inline bool mbarrier_try_wait_parity([[maybe_unused]] std::uint32_t& done,
                                                BINADE_WORD(barrier), BINADE_WORD(parity)) {
  BINADE_ON(100a,
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                         "selp.u32 %0, 1, 0, p;}"
                         : "=r"(done)
                         : "r"(barrier), "r"(parity)
                         : "memory"));
}

}  // namespace binade
