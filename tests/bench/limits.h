// SPDX-License-Identifier: Apache-2.0
//
// The limits of the machine: memcpy, and passes that read and write as many bytes for each element
// as a kernel but compute nothing. There are several methods for such a pass (vectors of each
// level; through the caches or past them; with or without prefetching), and the fastest on this
// machine is the limit.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

namespace binade::bench {

/// The memory traffic of a kernel: how many arrays it reads, and how many bytes it reads from each
/// and writes for one element.
struct Traffic {
  std::size_t arrays = 1;
  std::size_t read = 4;
  std::size_t written = 4;

  friend constexpr auto operator<=>(const Traffic&, const Traffic&) = default;
};

/// A pass over n elements; null where no pass has this traffic.
using Pass = void (*)(const std::byte* const* in, std::byte* out, std::size_t n);

/// The method of a pass.
struct Way {
  bool streamed = false;    ///< whether results are written past the caches
  bool prefetched = false;  ///< whether operands are prefetched 2 KiB ahead
};

/// Return the pass of this traffic with 64-bit words, with vectors of AVX2, and with those of
/// AVX-512.
Pass words_pass(const Traffic& traffic, Way way);
Pass avx2_pass(const Traffic& traffic, Way way);
Pass avx512_pass(const Traffic& traffic, Way way);

/// The arrays that a kernel reads and the one that it writes.
struct Arrays {
  std::array<const std::byte*, 3> in{};
  std::byte* out = nullptr;
};

/// Returns the pass of this traffic that is fastest over n elements on this machine.
Pass fastest_pass(const Traffic& traffic, const Arrays& arrays, std::size_t n);

/// The limit of a kernel: a pass of its traffic, or memcpy of as many floats.
struct Limit {
  Traffic traffic;
  bool is_memcpy = false;
  std::size_t elements = 1;  ///< that the traffic is of, where one has no whole bytes
};

/// Returns a function that runs the limit's pass over these arrays.
std::function<void()> limit_pass(const Limit& limit, const Arrays& arrays, std::size_t n);

/// Returns how many passes over n elements are timed at once: so many that they take at least a
/// fraction of a millisecond, beside which the time of reading the clock does not count.
constexpr std::size_t passes_at_once(std::size_t n) {
  constexpr std::size_t enough = std::size_t{1} << 20;
  return n < enough ? enough / n : 1;
}

}  // namespace binade::bench
