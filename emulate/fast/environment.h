// SPDX-License-Identifier: Apache-2.0
//
// The floating-point environment that kernels compute in: rounding to nearest, subnormal numbers
// kept, no traps. The calling thread may have another one: a library that was built for fast
// mathematics, or PyTorch when it is set to flush subnormals, makes subnormal results and operands
// zero. On x86-64 the environment is one register, MXCSR:
//
//     bit      15    14-13      12 … 7          6      5 … 0
//              FTZ   rounding   traps masked    DAZ    flags of exceptions
//     usual    0     00         111111          0      000000      0x1F80: the flags are all that may differ
//
// On AArch64 it is FPCR, whose bits usually are all 0: one flushes results and operands, and one
// gives every NaN the same sign and payload, which C's fesetenv() would leave as it is. The flags
// have a register of their own.
#pragma once

#if defined(__SSE2__) || defined(__aarch64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace binade::fast {

/// Sets the default environment for as long as the object lives; the destructor restores the one
/// before. On x86-64 and AArch64, where the environment was the default one already, nothing is set
/// or restored, and flags that arithmetic raises meanwhile stay; elsewhere they are lost.
class DefaultEnvironment {
 public:
  DefaultEnvironment(const DefaultEnvironment&) = delete;
  DefaultEnvironment& operator=(const DefaultEnvironment&) = delete;

#if defined(__SSE2__)
  // All binary32 and binary64 arithmetic is done by SSE or AVX instructions, which obey MXCSR.
  DefaultEnvironment() {
    asm volatile("stmxcsr %0" : "=m"(before_));
    if ((before_ & ~flags) != usual) set(usual | (before_ & flags));
  }
  ~DefaultEnvironment() {
    if ((before_ & ~flags) != usual) set(before_);
  }

 private:
  static constexpr std::uint32_t flags = 0x3F, usual = 0x1F80;
  static void set(const std::uint32_t& mxcsr) {
    asm volatile("ldmxcsr %0" : : "m"(mxcsr) : "memory");
  }

  std::uint32_t before_;
#elif defined(__aarch64__)
  DefaultEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    if (before_ != 0) set(0);
  }
  ~DefaultEnvironment() {
    if (before_ != 0) set(before_);
  }

 private:
  static void set(std::uint64_t fpcr) { asm volatile("msr fpcr, %0" : : "r"(fpcr) : "memory"); }

  std::uint64_t before_;
#else
  DefaultEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultEnvironment() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
#endif
};

}  // namespace binade::fast
