// SPDX-License-Identifier: Apache-2.0
//
// Rows of the benchmarks: a kernel's work at every level that has it, in turns with what bounds it, so that both see the
// machine in the same state. Of the times of each their lower quartile counts: others on the machine lengthen some, and a
// hypervisor that takes its time from a thread's clock shortens a few:
//
//     ns_per_element   of the kernel
//     limit_ns         of the limit's pass over the same arrays
//     of_limit         the one by the other: 1 at the limit
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lib/parallel/parallel.h"
#include "tests/bench/limits.h"

namespace binade::bench {

/// What a kernel is to do with n elements.
struct Work {
  std::string name;  ///< "quantize/binary16/ties_to_even"
  std::size_t n = 0;
  Limit limit;
  /// Asked when a row runs, so that arrays for rows nobody wants are not filled.
  std::function<Arrays()> arrays;
  /// Elements [begin, end) of them by a level's kernels; several threads may be at it.
  std::function<void(const Kernels& kernels, const Arrays& arrays, std::size_t begin,
                     std::size_t end)>
      run;
};

/// A level that this machine runs and that brings its own version of a kernel.
struct ReadyLevel {
  std::string name;
  const Kernels* kernels;
};

/// The reference, and above it each level, up to the fastest allowed, whose entry differs from the one below.
template <class Entry>
std::vector<ReadyLevel> levels_of(Entry Kernels::*entry) {
  std::vector<ReadyLevel> out;
  for (std::size_t at = 0; at < level_names.size(); ++at) {
    const Kernels& table = kernels(static_cast<Level>(at));
    if (out.empty() || table.*entry != out.back().kernels->*entry) {
      out.push_back({std::string(level_names[at]), &table});
    }
    if (&table == &fastest_kernels()) break;
  }
  return out;
}

/// A row WORK/LEVEL/N for each level; the reference, which no limit is near to, only in the L2 cache.
void add_rows(const Work& work, const std::vector<ReadyLevel>& levels);

/// Rows WORK/LEVEL/N/threads:T of the vector levels: a part of the elements for each of all threads by parallel_for, in
/// turns with as many threads that do their parts independently, again and again, as programs of one thread side by
/// side would (kernels neither allocate nor call the system, so a process of their own would give them nothing). limit_ns
/// is of those together, and the clock is the wall's. None on one thread.
void add_thread_rows(const Work& work, const std::vector<ReadyLevel>& levels);

/// Seconds of a pass, of passes_at_once of them.
using Measurement = std::function<double()>;
Measurement seconds_of(std::function<void()> pass, std::size_t n, double (*clock)());

/// One row; what it compares is made when it runs.
struct Compared {
  Measurement kernel, limit;
};
void add_row(const std::string& name, std::size_t n, std::function<Compared()> compared);

}  // namespace binade::bench
