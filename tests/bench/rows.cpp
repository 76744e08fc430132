// SPDX-License-Identifier: Apache-2.0
//
// Measuring the rows of the benchmarks.
#include "tests/bench/rows.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "tests/bench/arrays.h"
#include "tests/bench/clock.h"
#include "tests/bench/registered.h"

namespace binade::bench {
namespace {

/// Returns the seconds of a pass over all n elements by threads that repeat their parts without
/// waiting for each other: n divided by the sum of their rates.
double seconds_of_independent(const Work& work, const Kernels& kernels, const Arrays& arrays,
                              std::size_t passes) {
  const std::size_t count = thread_count();
  std::atomic<std::size_t> waiting = count;
  std::vector<double> rates(count);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      const std::size_t begin = work.n * t / count, end = work.n * (t + 1) / count;
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      const double start = wall_seconds();
      for (std::size_t i = 0; i < passes; ++i) work.run(kernels, arrays, begin, end);
      rates[t] = static_cast<double>((end - begin) * passes) / (wall_seconds() - start);
    });
  }
  for (std::thread& thread : threads) thread.join();
  double together = 0;
  for (const double rate : rates) together += rate;
  return static_cast<double>(work.n) / together;
}

double lower_quartile(std::vector<double> times) {
  const auto quarter = static_cast<std::ptrdiff_t>(times.size() / 4);
  std::ranges::nth_element(times, times.begin() + quarter);
  return times[times.size() / 4];
}

}  // namespace

Measurement seconds_of(std::function<void()> pass, std::size_t n, double (*clock)()) {
  return [pass = std::move(pass), n, clock] {
    const std::size_t passes = passes_at_once(n);
    const double start = clock();
    for (std::size_t i = 0; i < passes; ++i) {
      pass();
      benchmark::ClobberMemory();
    }
    return (clock() - start) / static_cast<double>(passes);
  };
}

void add_row(const std::string& name, std::size_t n, std::function<Compared()> compared) {
  const auto row = [n, compared = std::move(compared)](benchmark::State& state) {
    const Compared measured = compared();
    std::vector<double> kernel_seconds, limit_seconds;
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(passes_at_once(n)))) {
      state.PauseTiming();
      limit_seconds.push_back(measured.limit());
      state.ResumeTiming();
      kernel_seconds.push_back(measured.kernel());
    }
    const double kernel = lower_quartile(std::move(kernel_seconds));
    const double limit = lower_quartile(std::move(limit_seconds));
    state.counters["ns_per_element"] = 1e9 * kernel / static_cast<double>(n);
    state.counters["limit_ns"] = 1e9 * limit / static_cast<double>(n);
    state.counters["of_limit"] = kernel / limit;
  };
  add_benchmark(name, benchmark::kMicrosecond, row);
}

void add_rows(const Work& work, const std::vector<ReadyLevel>& levels) {
  for (const ReadyLevel& level : levels) {
    if (work.n > in_l2 && level.kernels == &kernels(Level::reference)) continue;
    add_row(work.name + "/" + level.name + "/" + std::to_string(work.n), work.n,
            [work, kernels = level.kernels] {
              const Arrays arrays = work.arrays();
              const auto kernel = [=] { work.run(*kernels, arrays, 0, work.n); };
              return Compared{
                  seconds_of(kernel, work.n, &thread_seconds),
                  seconds_of(limit_pass(work.limit, arrays, work.n), work.n, &thread_seconds)};
            });
  }
}

void add_thread_rows(const Work& work, const std::vector<ReadyLevel>& levels) {
  const std::size_t threads = thread_count();
  if (threads == 1) return;
  for (const ReadyLevel& level : levels) {
    if (level.name == "reference" || level.name == "portable") continue;
    add_row(work.name + "/" + level.name + "/" + std::to_string(work.n) +
                "/threads:" + std::to_string(threads),
            work.n, [work, threads, kernels = level.kernels] {
              constexpr std::size_t passes = 4;
              const Arrays arrays = work.arrays();
              const auto together = [=] {
                const double start = wall_seconds();
                for (std::size_t i = 0; i < passes; ++i) {
                  parallel_for(work.n, (work.n + threads - 1) / threads,
                               [&](std::size_t begin, std::size_t end, std::size_t) {
                                 work.run(*kernels, arrays, begin, end);
                               });
                }
                return (wall_seconds() - start) / passes;
              };
              return Compared{
                  together, [=] { return seconds_of_independent(work, *kernels, arrays, passes); }};
            });
  }
}

}  // namespace binade::bench
