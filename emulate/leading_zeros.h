// SPDX-License-Identifier: Apache-2.0
//
// std::countl_zero for the host and for kernels. On a device nvcc 13.0 takes the 64-bit one for 64 whatever its
// operand is, without a word: libstdc++ writes it with __builtin_clzl, which only the host has, and a path of a
// constexpr function that calls one is dropped. It is called nowhere else (tests/structure/include_rules_test.py).
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace binade {

constexpr int leading_zeros(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) return __clz(static_cast<int>(x));
#endif
  return std::countl_zero(x);
}

constexpr int leading_zeros(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) return __clzll(static_cast<long long>(x));
#endif
  return std::countl_zero(x);
}

}  // namespace binade
