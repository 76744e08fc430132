// SPDX-License-Identifier: Apache-2.0
//
// All 2^32 floats into binary16, bfloat16, tf32, e4m3 and e5m2 in every rounding that draws no
// random words. Each conversion is a monotone staircase; the oracle yields its steps, and the
// emulator's bits and flags are compared with a constant over each interval. `--slice N` compares
// every N-th pattern (another one in each block of 2^20) and every step with two patterns to each
// side; `--threads N`.
//
// Two paths are driven: the format as a run-time value, as most callers have it, over the slice
// (1/64 of a whole run), and the format known to the compiler, as kernels specialise it, over a
// whole run.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include "emulate/project.h"
#include "tests/emulate/directions.h"
#include "tests/emulate/oracle_bridge.h"
#include "tests/oracle/staircase.h"
#include "tests/outside/patterns.h"

namespace {

using binade::Format;
using binade::Projected;
using binade::Rounding;
using binade::outside::in_parallel;
using binade::test::deterministic;

struct Interval {
  std::uint32_t first = 0;
  Projected want;
};
using Intervals = std::vector<Interval>;

std::atomic<std::uint64_t> compared{0};
std::atomic<std::uint64_t> different{0};
std::mutex printing;

void explain(const Format& format, Rounding rounding, std::uint32_t pattern, const Projected& got,
             const Projected& want) {
  if (different.fetch_add(1) >= 20) return;
  const std::scoped_lock lock(printing);
  const std::string_view name = format_name(format);
  const std::string_view way = rounding_name(rounding);
  std::printf("%.*s %.*s of 0x%08x: got 0x%llx flags %02x, want 0x%llx flags %02x\n",
              static_cast<int>(name.size()), name.data(), static_cast<int>(way.size()), way.data(),
              pattern, static_cast<unsigned long long>(got.bits), got.flags,
              static_cast<unsigned long long>(want.bits), want.flags);
}

Intervals intervals_of(const Format& format, Rounding rounding) {
  const oracle::Oracle judge(oracle::named_spec(format_name(format)).spec);
  const oracle::Rules rules{.way = binade::test::rules_of({.rounding = rounding}).way};
  Intervals out;
  for (const oracle::Step& step : oracle::staircase(judge, rules)) {
    const oracle::Outcome& o = step.outcome;
    out.push_back({step.first,
                   {o.bits, static_cast<std::uint8_t>(o.inexact | o.underflow << 1 |
                                                      o.overflow << 2 | o.invalid << 4)}});
  }
  return out;
}

/// Patterns [first, last] in steps of `stride`, from `first + offset`.
template <class Convert>
std::uint64_t compare_range(const Intervals& intervals, std::uint64_t first, std::uint64_t last,
                            std::uint64_t stride, const Convert& convert) {
  const auto after = std::upper_bound(
      intervals.begin(), intervals.end(), first,
      [](std::uint64_t pattern, const Interval& interval) { return pattern < interval.first; });
  std::uint64_t count = 0;
  std::uint64_t x = first;
  for (auto here = after - 1; x <= last; ++here) {
    const bool is_last = here + 1 == intervals.end();
    const std::uint64_t end = std::min(last, is_last ? last : std::uint64_t{here[1].first} - 1);
    const Projected want = here->want;
    for (; x <= end; x += stride, ++count) {
      const Projected got = convert(static_cast<std::uint32_t>(x));
      if (!(got == want)) convert.explain(static_cast<std::uint32_t>(x), got, want);
    }
  }
  return count;
}

constexpr std::uint64_t chunk = std::uint64_t{1} << 20;

/// One of the 2^12 chunks of the patterns; in a slice, each chunk starts at another offset.
template <class Convert>
void compare_chunk(const Intervals& intervals, std::uint64_t index, std::uint64_t slice,
                   const Convert& convert) {
  const std::uint64_t first = index * chunk;
  const std::uint64_t offset = index * 0x9E3779B97F4A7C15 >> 32;
  compared += compare_range(intervals, first + offset % slice, first + chunk - 1, slice, convert);
}

template <class Convert>
void compare_steps(const Intervals& intervals, const Convert& convert) {
  for (const Interval& step : intervals) {
    const std::uint64_t first = step.first < 2 ? 0 : step.first - 2;
    const std::uint64_t last = std::min(std::uint64_t{step.first} + 2, std::uint64_t{0xFFFFFFFF});
    compared += compare_range(intervals, first, last, 1, convert);
  }
}

struct RunTime {
  Format format;
  Rounding rounding;
  Projected operator()(std::uint32_t x) const {
    return convert(x, binade::binary32, format, {.rounding = rounding});
  }
  void explain(std::uint32_t x, const Projected& got, const Projected& want) const {
    ::explain(format, rounding, x, got, want);
  }
};

template <Format format, Rounding rounding>
struct Specialised {
  Projected operator()(std::uint32_t x) const {
    return convert(x, binade::binary32, format, {.rounding = rounding});
  }
  void explain(std::uint32_t x, const Projected& got, const Projected& want) const {
    ::explain(format, rounding, x, got, want);
  }
};

using CompareChunk = void (*)(const Intervals&, std::uint64_t index);

template <Format format, Rounding rounding>
void specialised(const Intervals& intervals, std::uint64_t index) {
  compare_chunk(intervals, index, 1, Specialised<format, rounding>{});
}

struct Row {
  Format format;
  std::array<CompareChunk, deterministic.size()> compare;
};
template <Format format>
constexpr Row row() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return Row{format, {specialised<format, deterministic[i]>...}};
  }
  (std::make_index_sequence<deterministic.size()>{});
}
constexpr std::array rows{row<binade::binary16>(), row<binade::bfloat16>(), row<binade::tf32>(),
                          row<binade::e4m3>(), row<binade::e5m2>()};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const binade::outside::Options options = binade::outside::options_of(argc, argv);
  const bool whole = options.slice == 1;
  constexpr std::uint64_t chunks = (std::uint64_t{1} << 32) / chunk;
  std::uint64_t combinations = 0;
  for (const Row& row : rows) {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t before = compared;
    std::array<Intervals, deterministic.size()> stairs;
    in_parallel(options.threads, deterministic.size(),
                [&](std::uint64_t i) { stairs[i] = intervals_of(row.format, deterministic[i]); });
    const double built = seconds_since(start);
    in_parallel(options.threads, deterministic.size(), [&](std::uint64_t i) {
      compare_steps(stairs[i], RunTime{row.format, deterministic[i]});
    });
    in_parallel(options.threads, deterministic.size() * chunks, [&](std::uint64_t k) {
      const std::size_t i = k / chunks;
      compare_chunk(stairs[i], k % chunks, whole ? 64 : options.slice,
                    RunTime{row.format, deterministic[i]});
      if (whole) row.compare[i](stairs[i], k % chunks);
    });
    std::size_t steps = 0;
    for (const Intervals& intervals : stairs) steps += intervals.size();
    combinations += deterministic.size();
    const std::string_view name = format_name(row.format);
    std::printf("%-9.*s %8zu steps, %12llu values, %.1f s (steps %.1f s)\n",
                static_cast<int>(name.size()), name.data(), steps,
                static_cast<unsigned long long>(compared - before), seconds_since(start), built);
    std::fflush(stdout);
  }
  std::printf("%llu conversions, %llu values compared, %llu different\n",
              static_cast<unsigned long long>(combinations),
              static_cast<unsigned long long>(compared),
              static_cast<unsigned long long>(different));
  const std::uint64_t at_least = combinations * ((std::uint64_t{1} << 32) / options.slice);
  return different == 0 && compared >= at_least ? 0 : 1;
}
