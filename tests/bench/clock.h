// SPDX-License-Identifier: Apache-2.0
//
// The clocks of the benchmarks, in seconds: a thread's processor time, which a busy machine does
// not lengthen; the processor time of all threads; and elapsed time, for threads that wait for each
// other.
#pragma once

#include <ctime>

namespace binade::bench {

inline double seconds_on(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double thread_seconds() { return seconds_on(CLOCK_THREAD_CPUTIME_ID); }
inline double process_seconds() { return seconds_on(CLOCK_PROCESS_CPUTIME_ID); }
inline double wall_seconds() { return seconds_on(CLOCK_MONOTONIC); }

}  // namespace binade::bench
