// SPDX-License-Identifier: Apache-2.0
//
// What the machine can do at most, measured in the same process as the rows beside it: copying an
// array, and reading one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/parallel/parallel.h"

namespace binade::bench {

/// The sizes of the input array: with its output it stays in the L2 cache, or comes from DRAM.
struct Size {
  const char* name;
  std::size_t bytes;
};
inline constexpr std::array<Size, 2> sizes{
    {{"128KiB", std::size_t{128} << 10}, {"256MiB", std::size_t{256} << 20}}};

/// Bytes in the first `bytes` of two arrays that all rows share. The input is floats of both signs,
/// log-uniform over 2^-24..2^13: normal, subnormal and lost values in binary16.
std::span<const float> input(std::size_t bytes);
std::span<float> output(std::size_t bytes);

/// The sum of the array's 64-bit words.
std::uint64_t read_pass(std::span<const float> data);

/// Gigabytes a second, the median of several passes, measured at the first call and kept: of memcpy
/// (bytes read and written), and of read_pass on one thread or on all.
enum class Limit : std::uint8_t { copy, read, read_on_all_threads };
double limit(Limit which, std::size_t bytes);

/// Seconds on the clock that is right for passes under this limit: the processor time of this thread,
/// which a busy machine does not lengthen, or with all threads the wall's.
double seconds_now(Limit which);

/// A level that this machine runs and that brings its own version of a kernel.
struct ReadyLevel {
  std::string name;
  const Kernels* kernels;
};

/// The reference, and above it each level, up to the fastest allowed, whose entry differs from the
/// one below.
template <class Entry>
std::vector<ReadyLevel> levels_of(Entry Kernels::*entry) {
  std::vector<ReadyLevel> out;
  for (std::size_t at = 0; at < level_names.size(); ++at) {
    const auto level = static_cast<Level>(at);
    const Kernels& table = kernels(level);
    if (out.empty() || table.*entry != out.back().kernels->*entry) {
      out.push_back({std::string(level_names[static_cast<std::size_t>(level)]), &table});
    }
    if (&table == &fastest_kernels()) break;
  }
  return out;
}

}  // namespace binade::bench
