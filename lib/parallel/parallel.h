// SPDX-License-Identifier: Apache-2.0
//
// Threads and the instruction-set level: the two choices about the machine that change how long a
// result takes, but no bit of it.
//
//     [0, n)     | grain | grain | grain | … | rest |     pieces, each one call of the body
//     slots      | 0     | 1     | 0     | … | 1    |     whichever thread is free takes the next piece
#pragma once

#include <cstddef>
#include <functional>

#include "emulate/fast/kernels.h"

namespace binade {

/// Returns the number of threads in use, at least 1: BINADE_THREADS if set, else the machine's;
/// fewer where the system gives no more. Throws Error if BINADE_THREADS is not a number from 1 to
/// 1024.
std::size_t thread_count();

/// Calls body(begin, end, slot) on pieces of [0, n) of at most `grain` elements, on all threads,
/// and returns after the last. Calls with the same slot < thread_count() never run at the same
/// time, so that a slot may have work space of its own. An exception of a body keeps further pieces
/// from beginning and is thrown again here.
void parallel_for(std::size_t n, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t, std::size_t)>& body);

/// A function that may throw, which ends a loop whose result is no longer wanted.
using Poll = void (*)();
/// For as long as the object lives, parallel_for and `poll` call the given function on the thread
/// that made the object, at each piece of a loop.
class Polled {
 public:
  explicit Polled(Poll poll);
  ~Polled();
  Polled(const Polled&) = delete;
  Polled& operator=(const Polled&) = delete;

 private:
  Poll around_;
};
/// Calls this thread's Poll, if it has one. Long work without parallel_for calls it now and then.
void poll();

/// Makes all further loops run on the calling thread only. A child process calls it after a fork,
/// which leaves it no other threads.
void lose_threads();

/// Returns whether the machine has the instructions of a level's kernels.
bool machine_has(Level level);

/// Returns the kernels of the highest level that the machine has; BINADE_ISA, the name of a level,
/// lowers it. Throws Error if BINADE_ISA is not one of these.
const Kernels& fastest_kernels();

/// Returns the kernels for single elements of products, for which a vector's other lanes would be
/// empty: the portable ones, or the reference's if that is the level in use.
const Kernels& kernels_for_elements();

}  // namespace binade
