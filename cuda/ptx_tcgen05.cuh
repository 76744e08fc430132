// SPDX-License-Identifier: Apache-2.0
//
// PTX's tcgen05 with cta_group::1, for the Tensor Cores of data-centre Blackwell: one function per
// instruction with one asm statement, and the two kinds of descriptors. Only sm_100a and sm_103a
// have these instructions; there a function returns true, elsewhere false. ptxas accepts them; no
// GPU has run them for this project.
#pragma once

#include "cuda/ptx_operands.cuh"
#include "cuda/wgmma_layout.h"

namespace binade {

/// Returns the descriptor of a matrix in shared memory at `address` with rows of `row_bytes`: that
/// of wgmma_descriptor with bits 46–48 set to 001 (PTX ISA, "Shared memory descriptor").
constexpr std::uint64_t tcgen05_descriptor(std::uint32_t address, int row_bytes) {
  return wgmma_descriptor(address, row_bytes) | std::uint64_t{1} << 46;
}

/// Codes of the types of a and b in an instruction descriptor. f16, bf16 and tf32 are codes of
/// kind::f16 and kind::tf32; the others are codes of the kinds with 8-, 6- and 4-bit types, which
/// use 0 and 1 again.
enum class Tcgen05Type : std::uint8_t {
  f16 = 0,
  bf16 = 1,
  tf32 = 2,
  e4m3 = 0,
  e5m2 = 1,
  e2m3 = 3,
  e3m2 = 4,
  e2m1 = 5,
  packed_e2m1 = 1  ///< of kind::mxf4 and mxf4nvf4, whose operands lie two in a byte
};

/// Returns the instruction descriptor of an m × n product whose a and b lie with k fastest. Bits
/// 4–5 are the type of d (1: f32), 7–9 that of a, 10–12 that of b, 17–22 are n / 8, 24–28 are m
/// / 16.
constexpr std::uint32_t tcgen05_instruction(Tcgen05Type a, Tcgen05Type b, bool d_f32, int m,
                                            int n) {
  return (d_f32 ? 1U << 4 : 0U) | static_cast<std::uint32_t>(a) << 7 |
         static_cast<std::uint32_t>(b) << 10 | static_cast<std::uint32_t>(n / 8) << 17 |
         static_cast<std::uint32_t>(m / 16) << 24;
}
/// Returns the instruction descriptor of a product with block scales, whose d is f32 without a bit
/// that says so. Bit 23 is the type of the scales (1: ue8m0, 0: ue4m3).
constexpr std::uint32_t tcgen05_scaled_instruction(Tcgen05Type a, Tcgen05Type b, bool ue8m0, int m,
                                                   int n) {
  return tcgen05_instruction(a, b, false, m, n) | (ue8m0 ? 1U << 23 : 0U);
}

/// Operands of a tcgen05.mma. An address in tensor memory is lane · 2^16 + column.
struct Tcgen05Operands {
  std::uint32_t d = 0;                       ///< address in tensor memory
  std::uint64_t a = 0, b = 0;                ///< descriptors of matrices in shared memory
  std::uint32_t instruction = 0;             ///< instruction descriptor
  std::uint32_t accumulate = 0;              ///< 0: d = a·b, else d = d + a·b
  std::uint32_t scales_a = 0, scales_b = 0;  ///< addresses in tensor memory
};

// Defines the function of an instruction whose asm operands are all inputs.
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
// row(function, PTX's name)
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

/// Loads 16 columns of tensor memory, from address `from` on, into each thread of a warp: thread t
/// gets those of lane t from the address's lane on.
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
/// Waits for the loads before. It names the loaded registers as operands ("+r"), so that the
/// compiler moves no use of them before the wait.
__device__ inline bool tcgen05_wait_ld([[maybe_unused]] std::uint32_t (&d)[16]) {
  BINADE_ON(100a, asm volatile("tcgen05.wait::ld.sync.aligned;"
                               : BINADE_LIST_8("+r", d), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]),
                                 "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
                               :
                               : "memory"));
}
/// Sets `done` to 1 if the barrier's phase of this parity has completed, else to 0.
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
