// SPDX-License-Identifier: Apache-2.0
//
// Stages are few, so that a stale one is that of a few runs before.
#include "lib/identify/stale_runs.h"

#include <fmt/format.h>

#include <algorithm>

namespace binade {
namespace {

constexpr std::size_t most_stages = 4, most_runs_tried = 64;

struct StaleRun {
  const char* words;
  bool a, b, scales;
};
constexpr StaleRun stale_kinds[]{{"A", true, false, false},
                                 {"B", false, true, false},
                                 {"A and B", true, true, false},
                                 {"A, with its scales,", true, false, true},
                                 {"B, with its scales,", false, true, true}};

}  // namespace

std::vector<Change> stale_runs(const KernelCase& given) {
  const KernelRun& run = given.run;
  const std::size_t length = run.runs.length, runs = run.runs.count(run.k);
  std::vector<Change> out;
  // Weights say the same, but not beside a scale that outweighs the others.
  for (std::size_t at = 0; run.runs.any() && runs > 1 && at < std::min(runs, most_runs_tried);
       ++at) {
    const std::size_t first = at * length, end = std::min(first + length, run.k);
    Change x{.words = fmt::format("of K, k {}..{} left out", first, end - 1)};
    for (std::size_t k = 0; k < run.k; ++k) {
      if (k < first || k >= end) x.places.push_back(k);
    }
    out.push_back(std::move(x));
  }
  for (std::size_t at = 1; run.runs.any() && at < std::min(runs, most_runs_tried); ++at) {
    const std::size_t first = at * length, end = std::min(first + length, run.k);
    for (std::size_t back = 1; back <= most_stages && back <= at; ++back) {
      for (const StaleRun& kind : stale_kinds) {
        Change x{.words = fmt::format("{} of k {}..{} stale: those of k {}..{}", kind.words, first,
                                      end - 1, first - back * length, end - 1 - back * length)};
        const auto stale = [=, k = run.k](const std::vector<std::uint64_t>& all) {
          return [&all, k, first, end, by = back * length](std::size_t line, std::size_t place) {
            const bool is_in = first <= place && place < end;
            return all[line * k + place - (is_in ? by : 0)];
          };
        };
        const auto stale_scales = [=](const std::vector<std::uint32_t>& all) {
          return [&all, runs, at, back](std::size_t line, std::size_t place) {
            return all[line * runs + place - (place == at ? back : 0)];
          };
        };
        if (kind.a) x.a = stale(run.a);
        if (kind.b) x.b = stale(run.b);
        if (kind.a && kind.scales && !run.runs.a.empty()) x.a_runs = stale_scales(run.runs.a);
        if (kind.b && kind.scales && !run.runs.b.empty()) x.b_runs = stale_scales(run.runs.b);
        out.push_back(std::move(x));
      }
    }
  }
  return out;
}

}  // namespace binade
