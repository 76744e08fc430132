// SPDX-License-Identifier: Apache-2.0
//
// oneTBB underneath where the build has it; one thread where it does not.
#include "lib/parallel/parallel.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lib/tensor/error.h"

#ifdef BINADE_HAVE_TBB
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace binade {
namespace {

std::size_t machine_threads() {
#ifdef BINADE_HAVE_TBB
  return static_cast<std::size_t>(std::max(1, tbb::info::default_concurrency()));
#else
  return 1;
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

bool cpu_has(Level level) {
#if defined(__x86_64__)
  switch (level) {
    case Level::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case Level::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Level::reference: break;
  }
  return true;
#else
  return level == Level::reference;
#endif
}

Level chosen_level() {
  const char* text = std::getenv("BINADE_ISA");
  if (text == nullptr || *text == '\0') {
    return cpu_has(Level::avx512) ? Level::avx512
           : cpu_has(Level::avx2) ? Level::avx2
                                  : Level::reference;
  }
  const auto* row = std::ranges::find(level_names, text);
  if (row == level_names.end()) {
    throw Error("BINADE_ISA=" + printable(text) +
                ": no such level; give reference, avx2 or avx512");
  }
  const auto level = static_cast<Level>(row - level_names.begin());
  if (!cpu_has(level)) {
    throw Error("BINADE_ISA=" + printable(text) + ": this CPU lacks it; give a lower level");
  }
  return level;
}

}  // namespace

std::size_t thread_count() {
  static const std::size_t count = chosen_threads();
  return count;
}

void parallel_for(std::size_t n, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  grain = std::max<std::size_t>(grain, 1);
#ifdef BINADE_HAVE_TBB
  if (n > grain && thread_count() > 1) {
    // More threads than cores are allowed: a test wants to see that they change nothing.
    static tbb::global_control limit(tbb::global_control::max_allowed_parallelism, thread_count());
    static tbb::task_arena arena(static_cast<int>(thread_count()));
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, (n + grain - 1) / grain, [&](std::size_t piece) {
        const std::size_t begin = piece * grain;
        body(begin, std::min(n, begin + grain),
             static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()));
      });
    });
    return;
  }
#endif
  for (std::size_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain), 0);
}

const Kernels& fastest_kernels() {
  static const Level level = chosen_level();
  return kernels(level);
}

}  // namespace binade
