// SPDX-License-Identifier: Apache-2.0
//
// Rows of the benchmarks: a kernel's work at every level that has its own version of it, in turns
// with the kernel's limit, so that both find the machine in the same state. The lower quartile of
// the times of each counts, because other programs lengthen some times, and a hypervisor that takes
// its own time from a thread's clock shortens a few:
//
//     ns_per_element   time of the kernel
//     limit_ns         time of the limit's pass over the same arrays
//     of_limit         the first divided by the second: 1 at the limit
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lib/parallel/parallel.h"
#include "tests/bench/limits.h"

namespace binade::bench {

/// A kernel's work on n elements.
struct Work {
  std::string name;  ///< "quantize/binary16/ties_to_even"
  std::size_t n = 0;
  Limit limit;  ///< fastest pass here that moves the same bytes and computes nothing (limits.h)
  /// Gives the arrays. It is called when a row runs, so that arrays of rows that do not run are
  /// not filled.
  std::function<Arrays()> arrays;
  /// Does the work on elements [begin, end) by a level's kernels. Several threads may call it at
  /// once.
  std::function<void(const Kernels& kernels, const Arrays& arrays, std::size_t begin,
                     std::size_t end)>
      run;
};

/// A level that this machine runs and that has its own version of a kernel.
struct ReadyLevel {
  std::string name;
  const Kernels* kernels;
};

/// Returns the reference and each level above it, up to the fastest that is allowed, whose kernel
/// differs from that of the level below.
template <class Entry>
std::vector<ReadyLevel> levels_of(Entry Kernels::*entry) {
  std::vector<ReadyLevel> out;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const Kernels& table = kernels(static_cast<Level>(at));
    if (out.empty() || table.*entry != out.back().kernels->*entry) {
      out.push_back({std::string(levels[at].name), &table});
    }
    if (&table == &fastest_kernels()) break;
  }
  return out;
}

/// Adds a row WORK/LEVEL/N for each level. The reference, which is far slower than the limit, has a
/// row for arrays in the L2 cache only.
void add_rows(const Work& work, const std::vector<ReadyLevel>& levels);

/// Adds rows WORK/LEVEL/N/threads:T of the vector levels. The kernel's time is that of parallel_for
/// over the n elements. limit_ns is n divided by the sum of the rates of as many threads that
/// repeat their parts independently, like programs of one thread side by side (separate processes
/// would be no faster, since kernels neither allocate nor call the system). Both are elapsed time.
/// Adds no rows on a machine with one thread.
void add_thread_rows(const Work& work, const std::vector<ReadyLevel>& levels);

/// A function that measures something and returns seconds.
using Measurement = std::function<double()>;
/// Returns the measurement of the mean seconds of one pass over n elements: as many passes as
/// passes_at_once(n) says (limits.h) are timed together by `clock`, which returns seconds.
Measurement seconds_of(std::function<void()> pass, std::size_t n, double (*clock)());

/// One row: the kernel's measurement and the limit's, which are made when the row runs.
struct Compared {
  Measurement kernel, limit;
};
void add_row(const std::string& name, std::size_t n, std::function<Compared()> compared);

}  // namespace binade::bench
