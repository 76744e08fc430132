// SPDX-License-Identifier: Apache-2.0
//
// The floating-point environment that kernels compute in: to nearest, subnormal numbers kept, no traps. A process may
// have another one: whoever loads code that was built for fast mathematics, or tells PyTorch
// to flush subnormals, has results and operands flushed to zero in that thread.
#pragma once

#if defined(__SSE2__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace binade::fast {

/// For as long as it lives the environment is the default one; then what it was before, but for the flags that arithmetic
/// has raised meanwhile where it was the default one already.
class DefaultEnvironment {
 public:
  DefaultEnvironment(const DefaultEnvironment&) = delete;
  DefaultEnvironment& operator=(const DefaultEnvironment&) = delete;

#if defined(__SSE2__)
  // All binary32 and binary64 arithmetic is SSE's or AVX's, under MXCSR; its lowest six bits are flags.
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
