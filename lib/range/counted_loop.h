// SPDX-License-Identifier: Apache-2.0
//
// A loop on all threads that counts what happens to its elements.
#pragma once

#include <cstddef>
#include <vector>

#include "emulate/event_count.h"
#include "lib/parallel/parallel.h"

namespace binade {

/// Calls run(begin, end, counts) on pieces of [0, n) of at most `grain` elements, on all threads,
/// and returns the sum of the counts. A single piece runs on the calling thread.
template <class Run>
EventCounts counted_loop(std::size_t n, std::size_t grain, const Run& run) {
  EventCounts all;
  if (n <= grain) {
    run(std::size_t{0}, n, all);
    return all;
  }
  std::vector<EventCounts> counts(thread_count());
  parallel_for(n, grain, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    run(begin, end, counts[slot]);
  });
  for (const EventCounts& c : counts) all += c;
  return all;
}

}  // namespace binade
