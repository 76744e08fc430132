// SPDX-License-Identifier: Apache-2.0
//
// What the machine can do at most: memcpy, and passes that read and write as many bytes an element as a kernel and compute
// nothing. Of the ways to write such a pass (vectors of each level; through the caches or past them; asking ahead for
// what is read, or not) the one that is fastest here is the limit.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

namespace binade::bench {

/// Bytes of an element that a kernel reads from each of some arrays, and writes.
struct Traffic {
  std::size_t arrays = 1;
  std::size_t read = 4;
  std::size_t written = 4;

  friend constexpr auto operator<=>(const Traffic&, const Traffic&) = default;
};

/// The pass of n elements; null where there is none of this traffic.
using Pass = void (*)(const std::byte* const* in, std::byte* out, std::size_t n);

/// How a pass may be written.
struct Way {
  bool streamed = false;    ///< results past the caches
  bool prefetched = false;  ///< operands asked for 2 KiB ahead
};

/// By the vectors of any processor, of AVX2, of AVX-512.
Pass words_pass(const Traffic& traffic, Way way);
Pass avx2_pass(const Traffic& traffic, Way way);
Pass avx512_pass(const Traffic& traffic, Way way);

/// The arrays that a kernel reads and the one that it writes.
struct Arrays {
  std::array<const std::byte*, 3> in{};
  std::byte* out = nullptr;
};

/// A pass of this traffic over n elements, in the way that is fastest on this machine.
Pass fastest_pass(const Traffic& traffic, const Arrays& arrays, std::size_t n);

/// What bounds a kernel: a pass of its traffic, or memcpy of as many floats.
struct Limit {
  Traffic traffic;
  bool is_memcpy = false;
};

/// The limit's pass over these arrays, to be called.
std::function<void()> limit_pass(const Limit& limit, const Arrays& arrays, std::size_t n);

/// How many passes over n elements take a fraction of a millisecond or more, so that no clock's own time counts.
constexpr std::size_t passes_at_once(std::size_t n) {
  constexpr std::size_t enough = std::size_t{1} << 20;
  return n < enough ? enough / n : 1;
}

}  // namespace binade::bench
