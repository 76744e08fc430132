// SPDX-License-Identifier: Apache-2.0
//
// std::countl_zero for the host and for kernels. On a device, nvcc 13.0 compiles the 64-bit
// std::countl_zero to the constant 64, without a warning: libstdc++ implements it with
// __builtin_clzl, which only the host has, and nvcc drops the path of a constexpr function that
// calls it. Therefore no other file may call std::countl_zero
// (tests/structure/include_rules_test.py).
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace binade {

/// Returns the number of zero bits above the highest 1; 32 for 0.
constexpr int leading_zeros(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) return __clz(static_cast<int>(x));
#endif
  return std::countl_zero(x);
}

/// Returns the number of zero bits above the highest 1; 64 for 0.
constexpr int leading_zeros(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) return __clzll(static_cast<long long>(x));
#endif
  return std::countl_zero(x);
}

}  // namespace binade
