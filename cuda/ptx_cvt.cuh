// SPDX-License-Identifier: Apache-2.0
//
// PTX's conversions from float32: one wrapper per instruction, of PTX's own name with one asm line,
// from float32 bits to result bits. What the compiled architecture lacks does not exist here.
#pragma once

#include <cstdint>

#include "cuda/conversions.h"

namespace binade {

__device__ inline std::uint32_t cvt_rn_f16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rz_f16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rm_f16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rm.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rp_f16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rp.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rn_satfinite_f16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rn.satfinite.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rz_satfinite_f16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rz.satfinite.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rn_bf16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rz_bf16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rz.bf16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rn_satfinite_bf16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rn.satfinite.bf16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rz_satfinite_bf16_f32(float a) {
  std::uint16_t d;
  asm("cvt.rz.satfinite.bf16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rna_tf32_f32(float a) {
  std::uint32_t d;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rna_satfinite_tf32_f32(float a) {
  std::uint32_t d;
  asm("cvt.rna.satfinite.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  return d;
}

#if __CUDA_ARCH__ >= 900

__device__ inline std::uint32_t cvt_rn_tf32_f32(float a) {
  std::uint32_t d;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rz_tf32_f32(float a) {
  std::uint32_t d;
  asm("cvt.rz.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  return d;
}

#endif

#if __CUDA_ARCH__ >= 1000

__device__ inline std::uint32_t cvt_rn_satfinite_tf32_f32(float a) {
  std::uint32_t d;
  asm("cvt.rn.satfinite.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  return d;
}

__device__ inline std::uint32_t cvt_rz_satfinite_tf32_f32(float a) {
  std::uint32_t d;
  asm("cvt.rz.satfinite.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  return d;
}

#endif

/// The instruction by its number. Asking for one that the architecture lacks is a fault, not a
/// guess.
__device__ inline std::uint32_t run_cvt(Cvt instruction, std::uint32_t bits) {
  const float a = __uint_as_float(bits);
  switch (instruction) {
    case Cvt::rn_f16_f32: return cvt_rn_f16_f32(a);
    case Cvt::rz_f16_f32: return cvt_rz_f16_f32(a);
    case Cvt::rm_f16_f32: return cvt_rm_f16_f32(a);
    case Cvt::rp_f16_f32: return cvt_rp_f16_f32(a);
    case Cvt::rn_satfinite_f16_f32: return cvt_rn_satfinite_f16_f32(a);
    case Cvt::rz_satfinite_f16_f32: return cvt_rz_satfinite_f16_f32(a);
    case Cvt::rn_bf16_f32: return cvt_rn_bf16_f32(a);
    case Cvt::rz_bf16_f32: return cvt_rz_bf16_f32(a);
    case Cvt::rn_satfinite_bf16_f32: return cvt_rn_satfinite_bf16_f32(a);
    case Cvt::rz_satfinite_bf16_f32: return cvt_rz_satfinite_bf16_f32(a);
    case Cvt::rna_tf32_f32: return cvt_rna_tf32_f32(a);
    case Cvt::rna_satfinite_tf32_f32: return cvt_rna_satfinite_tf32_f32(a);
#if __CUDA_ARCH__ >= 900
    case Cvt::rn_tf32_f32: return cvt_rn_tf32_f32(a);
    case Cvt::rz_tf32_f32: return cvt_rz_tf32_f32(a);
#endif
#if __CUDA_ARCH__ >= 1000
    case Cvt::rn_satfinite_tf32_f32: return cvt_rn_satfinite_tf32_f32(a);
    case Cvt::rz_satfinite_tf32_f32: return cvt_rz_satfinite_tf32_f32(a);
#endif
    default: __trap(); return 0;
  }
}

}  // namespace binade
