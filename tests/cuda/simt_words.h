// SPDX-License-Identifier: Apache-2.0
//
// CUDA's built-in functions for g++ on the fibers of simt.h: barriers, exchange between lanes,
// atomics and operations on bits.
#pragma once

#include "tests/cuda/simt.h"

// The names are CUDA's.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier,bugprone-macro-parentheses)

#define SIMT_HERE const simt::Where& at = simt::Where::here()

inline void __syncthreads(SIMT_HERE) { simt::wait("__syncthreads", 0, at); }
inline void __syncwarp(unsigned lanes = ~0U, SIMT_HERE) { simt::wait("__syncwarp", lanes, at); }

namespace simt {

inline unsigned lane() { return static_cast<unsigned>(current % warp_size); }
/// Returns the value of lane `from`, or the caller's own if there is no such lane.
template <class T>
T shuffled(unsigned lanes, T value, unsigned from, const char* name, SIMT_HERE) {
  const auto all = warp_gather(value, lanes, name, at);
  return from < warp_size ? all[from] : value;
}

}  // namespace simt

template <class T>
T __shfl_sync(unsigned lanes, T value, int from, SIMT_HERE) {
  return simt::shuffled(lanes, value, static_cast<unsigned>(from) % 32, "__shfl_sync", at);
}
template <class T>
T __shfl_xor_sync(unsigned lanes, T value, int mask, SIMT_HERE) {
  return simt::shuffled(lanes, value, simt::lane() ^ static_cast<unsigned>(mask), "__shfl_xor_sync",
                        at);
}
template <class T>
T __shfl_down_sync(unsigned lanes, T value, unsigned delta, SIMT_HERE) {
  return simt::shuffled(lanes, value, simt::lane() + delta, "__shfl_down_sync", at);
}

inline unsigned __ballot_sync(unsigned lanes, int predicate, SIMT_HERE) {
  const auto all = simt::warp_gather(predicate, lanes, "__ballot_sync", at);
  unsigned out = 0;
  for (unsigned i = 0; i < 32; ++i) out |= (all[i] != 0 ? 1U : 0U) << i;
  return out;
}
inline int __any_sync(unsigned lanes, int predicate, SIMT_HERE) {
  return __ballot_sync(lanes, predicate, at) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned lanes, int predicate, SIMT_HERE) {
  return __ballot_sync(lanes, predicate, at) == lanes ? 1 : 0;
}

#define SIMT_REDUCE(name, start, f)                                                        \
  inline unsigned name(unsigned lanes, unsigned value, SIMT_HERE) {                        \
    const auto all = simt::warp_gather(value, lanes, #name, at);                           \
    return simt::warp_reduce(all, lanes, start, [](unsigned a, unsigned b) { return f; }); \
  }
SIMT_REDUCE(__reduce_add_sync, 0U, a + b)
SIMT_REDUCE(__reduce_or_sync, 0U, a | b)
SIMT_REDUCE(__reduce_min_sync, ~0U, a < b ? a : b)
SIMT_REDUCE(__reduce_max_sync, 0U, a > b ? a : b)
#undef SIMT_REDUCE

// The atomics return the old value; they exist for unsigned, int and unsigned long long, as in
// CUDA.
#define SIMT_ATOMIC(name, type, f)     \
  inline type name(type* at, type b) { \
    const type a = *at;                \
    *at = f;                           \
    return a;                          \
  }
#define SIMT_ATOMICS(type)                                 \
  SIMT_ATOMIC(atomicAdd, type, a + b)                      \
  SIMT_ATOMIC(atomicMin, type, a < b ? a : b)              \
  SIMT_ATOMIC(atomicMax, type, a > b ? a : b)              \
  SIMT_ATOMIC(atomicOr, type, a | b)                       \
  inline type atomicCAS(type* at, type expected, type b) { \
    const type a = *at;                                    \
    if (a == expected) *at = b;                            \
    return a;                                              \
  }
SIMT_ATOMICS(unsigned)
SIMT_ATOMICS(int)
SIMT_ATOMICS(unsigned long long)
#undef SIMT_ATOMICS
#undef SIMT_ATOMIC
#undef SIMT_HERE

template <class T>
T __ldcs(const T* at) {
  return *at;
}
template <class T>
void __stcs(T* at, T value) {
  *at = value;
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(unsigned x) { return std::countl_zero(x); }
inline int __clzll(unsigned long long x) { return std::countl_zero(x); }
inline int __ffs(unsigned x) { return x == 0 ? 0 : std::countr_zero(x) + 1; }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier,bugprone-macro-parentheses)
