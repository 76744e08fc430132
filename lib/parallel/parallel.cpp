// SPDX-License-Identifier: Apache-2.0
//
// oneTBB underneath where the build has it; where it does not, threads for each loop.
#include "lib/parallel/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

#ifdef BINADE_HAVE_TBB
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <latch>
#include <mutex>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#else
#include <mutex>
#endif

namespace binade {
namespace {

thread_local Poll own_poll = nullptr;
thread_local bool inside = false;  // a piece of a loop
bool alone = false;

std::size_t machine_threads() {
#ifdef BINADE_HAVE_TBB
  return static_cast<std::size_t>(std::max(1, tbb::info::default_concurrency()));
#else
  return std::max(1U, std::thread::hardware_concurrency());
#endif
}

std::size_t chosen_threads() {
  const char* text = std::getenv("BINADE_THREADS");
  if (text == nullptr || *text == '\0') return machine_threads();
  const std::string_view digits = text;
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (error != std::errc{} || end != digits.data() + digits.size() || n < 1 || n > 1024) {
    throw Error("BINADE_THREADS=" + printable(digits) +
                ": not a number of threads; give one from 1 to 1024");
  }
  return n;
}

Level chosen_level() {
  const char* text = std::getenv("BINADE_ISA");
  auto level = static_cast<Level>(levels.size() - 1);
  if (text != nullptr && *text != '\0') {
    const auto* row = std::ranges::find(levels, text, &NamedLevel::name);
    if (row == levels.end()) {
      throw Error("BINADE_ISA=" + printable(text) + ": no such level; give " +
                  alternatives(names_of(levels)));
    }
    level = row->level;
  }
  while (!machine_has(level)) level = static_cast<Level>(static_cast<int>(level) - 1);
  return level;
}

/// Starts threads that call run(1), run(2) … until there are `others`, or until the system gives no
/// more.
template <class Run>
std::vector<std::thread> start_threads(std::size_t others, const Run& run) {
  std::vector<std::thread> threads;
  threads.reserve(others);
  try {
    while (threads.size() < others) threads.emplace_back(run, threads.size() + 1);
  } catch (const std::exception&) {  // std::system_error, or std::bad_alloc: those that run will do
  }
  return threads;
}

#ifndef BINADE_HAVE_TBB
/// The slot of the loop that this thread is in; a loop inside a loop stays in it.
thread_local std::size_t own_slot = 0;

/// run(piece, slot) for every piece; the first exception is thrown again when all threads are done.
template <class Run>
void on_threads(std::size_t pieces, const Run& run) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&](std::size_t slot) {
    inside = true;
    own_slot = slot;
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) run(piece, slot);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = pieces;
    }
    inside = false;
    own_slot = 0;
  };
  std::vector<std::thread> threads = start_threads(std::min(thread_count(), pieces) - 1, work);
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}
#endif

#ifdef BINADE_HAVE_TBB
/// Returns for how many threads half of the address space that is left has room. Only a limit on it
/// (ulimit -v) is ever that small: each thread may take a heap of its own, for which glibc reserves
/// 64 MiB, beside its stack.
std::size_t threads_with_room() {
  constexpr std::size_t bytes_of_thread = std::size_t{80} << 20;
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  std::size_t pages = 0;  // of the address space that is in use
  std::ifstream("/proc/self/statm") >> pages;
  const std::size_t used = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return 1 + (limit.rlim_cur - std::min<std::size_t>(used, limit.rlim_cur)) / 2 / bytes_of_thread;
}

/// Returns how many threads, of those wanted, loops may have: where the system gives fewer (ulimit
/// -u, a container), half of what it gives, so that there is room for what else the process does.
std::size_t affordable_threads(std::size_t wanted) {
  wanted = std::min(wanted, threads_with_room());
  std::latch end(1);
  std::vector<std::thread> others = start_threads(wanted - 1, [&end](std::size_t) { end.wait(); });
  end.count_down();
  for (std::thread& thread : others) thread.join();
  const std::size_t given = others.size() + 1;
  return given == wanted ? wanted : (given + 1) / 2;
}

/// Has oneTBB start its threads, and returns how many loops have. If the system refused one later,
/// oneTBB would throw in a thread where nobody can catch it, and the process would end.
std::size_t start_tbb(std::size_t wanted) {
  const std::size_t count = affordable_threads(wanted);
  // More threads than cores are allowed: a test wants to see that they change nothing.
  static tbb::global_control limit(tbb::global_control::max_allowed_parallelism, count);
  static tbb::task_arena arena(static_cast<int>(count));  // as long as it lives, so do the threads
  std::mutex counting;
  std::condition_variable changed;
  std::size_t here = 0;
  const auto meet = [&](std::size_t) {
    constexpr std::chrono::milliseconds patience{100};  // another user of oneTBB may have them
    std::unique_lock lock(counting);
    if (++here == count) changed.notify_all();
    changed.wait_for(lock, patience, [&] { return here == count; });
  };
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, meet, tbb::simple_partitioner()); });
  return count;
}

/// Of each thread that has loops one of its own: there is always room for it, and it works and
/// polls for no other's.
tbb::task_arena& own_arena() {
  thread_local tbb::task_arena arena(static_cast<int>(thread_count()));
  return arena;
}

/// While it lives, this thread is in a piece.
class Inside {
 public:
  Inside() : around_(std::exchange(inside, true)) {}
  ~Inside() { inside = around_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool around_;
};
#endif

}  // namespace

std::size_t thread_count() {
#ifdef BINADE_HAVE_TBB
  static const std::size_t count = alone ? 1 : start_tbb(chosen_threads());
#else
  static const std::size_t count = chosen_threads();
#endif
  return count;
}

void parallel_for(std::size_t n, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t pieces = (n + grain - 1) / grain;
  std::atomic<bool> has_failed = false;  // then no other piece begins, on any thread
  const auto run = [&](std::size_t piece, std::size_t slot) {
    if (has_failed) return;
    try {
      poll();
      body(piece * grain, std::min(n, piece * grain + grain), slot);
    } catch (...) {
      has_failed = true;
      throw;
    }
  };
#ifdef BINADE_HAVE_TBB
  if (pieces > 1 && thread_count() > 1 && !alone) {
    const auto loop = [&] {
      const auto work = [&](std::size_t piece) {
        const Inside piece_of_loop;
        run(piece, static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()));
      };
      // Isolated: a thread that waits for its loop takes no piece of another, whose slot it may be
      // in.
      tbb::this_task_arena::isolate([&] {
        // Who polls must not wait for more than the piece that another thread is in.
        if (own_poll != nullptr) {
          tbb::parallel_for(std::size_t{0}, pieces, work, tbb::simple_partitioner());
        } else {
          tbb::parallel_for(std::size_t{0}, pieces, work);
        }
      });
    };
    if (inside) {
      loop();
    } else {
      own_arena().execute(loop);
    }
    return;
  }
  constexpr std::size_t own_slot = 0;
#else
  if (pieces > 1 && thread_count() > 1 && !inside && !alone) return on_threads(pieces, run);
#endif
  for (std::size_t piece = 0; piece < pieces; ++piece) run(piece, own_slot);
}

Polled::Polled(Poll poll) : around_(own_poll) { own_poll = poll; }
Polled::~Polled() { own_poll = around_; }

void poll() {
  if (own_poll != nullptr) own_poll();
}

void lose_threads() { alone = true; }

bool machine_has(Level level) {
#ifdef __x86_64__
  switch (level) {
    case Level::reference:
    case Level::portable: return true;
    case Level::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("popcnt");
    case Level::avx512:
      return machine_has(Level::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  }
#endif
  return level <= Level::portable;
}

const Kernels& fastest_kernels() {
  static const Level level = chosen_level();
  return kernels(level);
}

const Kernels& kernels_for_elements() {
  const Kernels& reference = kernels(Level::reference);
  return &fastest_kernels() == &reference ? reference : kernels(Level::portable);
}

}  // namespace binade
