// SPDX-License-Identifier: Apache-2.0
//
// Threads and instruction-set level: the two things about the machine that may change how long a
// result takes and never what it is.
#pragma once

#include <cstddef>
#include <functional>

#include "emulate/fast/kernels.h"

namespace binade {

/// Number of threads in use, at least 1: BINADE_THREADS if set, else the machine's.
std::size_t thread_count();

/// Calls body(begin, end, slot) on pieces of [0, n) of at most `grain`, on all threads. Calls with
/// the same slot < thread_count() never run at the same time: a slot may own work space.
void parallel_for(std::size_t n, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t, std::size_t)>& body);

/// May throw, to end a loop that somebody waits for no longer.
using Poll = void (*)();
/// While it lives, parallel_for and `poll` call it on the thread that made it, often: at each piece of a loop.
class Polled {
 public:
  explicit Polled(Poll poll);
  ~Polled();
  Polled(const Polled&) = delete;
  Polled& operator=(const Polled&) = delete;

 private:
  Poll around_;
};
/// To be called now and then by what takes long without parallel_for.
void poll();

/// From now on loops run on their own thread alone: the others are gone, in a process that was forked.
void lose_threads();

/// Whether the machine has what the kernels of a level ask for.
bool machine_has(Level level);

/// The kernels of the fastest level that the machine has; BINADE_ISA (reference, portable, avx2, avx512) lowers it. Error
/// if that is no level.
const Kernels& fastest_kernels();

/// The same for elements of products one by one: a vector's other lanes would be empty.
const Kernels& kernels_for_elements();

}  // namespace binade
