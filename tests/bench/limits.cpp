// SPDX-License-Identifier: Apache-2.0
//
// The arrays of the benchmarks, and the passes that nothing can beat.
#include "tests/bench/limits.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace binade::bench {
namespace {

constexpr std::size_t largest = sizes.back().bytes / sizeof(float);

float* filled() {
  static const std::unique_ptr<float[]> data = [] {
    auto array = std::make_unique<float[]>(largest);
    constexpr std::size_t pattern = std::size_t{1} << 20;
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < pattern; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX generator
      const double uniform = std::ldexp(static_cast<double>(state >> 11), -53);
      const double magnitude = std::exp2(37 * uniform - 24);
      array[i] = static_cast<float>((state >> 8 & 1) != 0 ? -magnitude : magnitude);
    }
    for (std::size_t i = pattern; i < largest; i += pattern) {
      std::memcpy(&array[i], &array[0], pattern * sizeof(float));
    }
    return array;
  }();
  return data.get();
}

double seconds_of(Limit which, std::size_t bytes) {
  const std::span<const float> in = input(bytes);
  const std::span<float> out = output(bytes);
  const std::size_t passes = std::max<std::size_t>(1, (std::size_t{256} << 20) / bytes);
  const double start = seconds_now(which);
  for (std::size_t i = 0; i < passes; ++i) {
    switch (which) {
      case Limit::copy: std::memcpy(out.data(), in.data(), bytes); break;
      case Limit::read: benchmark::DoNotOptimize(read_pass(in)); break;
      case Limit::read_on_all_threads:
        parallel_for(in.size(), std::size_t{1} << 16,
                     [&](std::size_t begin, std::size_t end, std::size_t) {
                       benchmark::DoNotOptimize(read_pass(in.subspan(begin, end - begin)));
                     });
        break;
    }
    benchmark::ClobberMemory();
  }
  return (seconds_now(which) - start) / static_cast<double>(passes);
}

}  // namespace

std::span<const float> input(std::size_t bytes) { return {filled(), bytes / sizeof(float)}; }

std::span<float> output(std::size_t bytes) {
  static std::vector<float> data(largest, 1.0F);  // written once, so that its pages exist
  return std::span(data).first(bytes / sizeof(float));
}

std::uint64_t read_pass(std::span<const float> data) {
  // Four quarters side by side: one sum alone would wait for each addition.
  const std::size_t quarter = data.size() / 8 * 2;
  std::array<std::uint64_t, 4> sums{};
  for (std::size_t i = 0; i < quarter; i += 2) {
    for (std::size_t k = 0; k < sums.size(); ++k) {
      std::uint64_t word;
      std::memcpy(&word, data.data() + k * quarter + i, sizeof word);
      sums[k] += word;
    }
  }
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

double seconds_now(Limit which) {
  if (which == Limit::read_on_all_threads) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double limit(Limit which, std::size_t bytes) {
  static std::map<std::pair<Limit, std::size_t>, double> known;
  const auto [row, is_unknown] = known.try_emplace({which, bytes});
  if (is_unknown) {
    seconds_of(which, bytes);
    std::array<double, 7> seconds;
    for (double& s : seconds) s = seconds_of(which, bytes);
    std::ranges::nth_element(seconds, seconds.begin() + 3);
    const double moved = static_cast<double>(bytes) * (which == Limit::copy ? 2 : 1);
    row->second = moved / seconds[3] / 1e9;
  }
  return row->second;
}

}  // namespace binade::bench
