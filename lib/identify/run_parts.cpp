// SPDX-License-Identifier: Apache-2.0
//
// A change of places of single parts of runs.
#include "lib/identify/run_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace binade {
namespace {

std::size_t length_of(const KernelRun& run, const std::vector<std::size_t>& from) {
  return run.runs.any() ? run.runs.length : run.k / from.size();
}

std::string moved_runs_words(const KernelRun& run, const MovedParts& moved,
                             const std::vector<std::size_t>& from) {
  constexpr std::size_t most_runs_told = 4;
  std::vector<std::string> words;
  const std::size_t length = length_of(run, from);
  bool is_late = true;
  std::size_t moved_count = 0;
  for (std::size_t r = 0, end = 0; r < from.size(); r = end) {
    for (end = r + 1; end < from.size() && from[end] == from[r] + end - r;) ++end;
    if (from[r] == r) continue;
    moved_count += end - r;
    is_late = is_late && from[r] < r;
    words.push_back(fmt::format("in {} those of {}", run_text(run, length, r, end - 1),
                                run_text(run, length, from[r], from[r] + end - 1 - r)));
  }
  // All but the first, or the last, ones.
  if (words.size() == 1 && moved_count > 1) {
    const bool is_early = from[0] > 0;
    const std::size_t by = is_early ? from[0] : from.size() - 1 - from.back();
    if (moved_count + by == from.size()) {
      return fmt::format("{} {} along K: at each k what belongs at k {} {}", moved.words,
                         is_early ? "early" : "late", is_early ? "+" : "-", by * length);
    }
  }
  const bool are_more = words.size() > most_runs_told;
  if (are_more) words.resize(most_runs_told);
  return fmt::format("{} {}: {}{}", moved.words, is_late ? "stale" : "of other runs of K",
                     fmt::join(words, ", "), are_more ? ", …" : "");
}

}  // namespace

bool has_parts(const KernelRun& run, const MovedParts& moved) {
  return !(moved.a.scales && run.runs.a.empty()) && !(moved.b.scales && run.runs.b.empty());
}

Change moved_runs(const KernelRun& run, const MovedParts& moved,
                  const std::vector<std::size_t>& from) {
  const std::size_t length = length_of(run, from);
  const auto data = [=, k = run.k](const std::vector<std::uint64_t>& all) {
    return [&all, k, length, from](std::size_t line, std::size_t place) {
      return all[line * k + from[place / length] * length + place % length];
    };
  };
  const auto scales = [&](const std::vector<std::uint32_t>& all) {
    return [&all, from](std::size_t line, std::size_t at) {
      return all[line * from.size() + from[at]];
    };
  };
  Change out{.words = moved_runs_words(run, moved, from)};
  if (moved.a.data) out.a = data(run.a);
  if (moved.b.data) out.b = data(run.b);
  if (moved.a.scales) out.a_runs = scales(run.runs.a);
  if (moved.b.scales) out.b_runs = scales(run.runs.b);
  return out;
}

std::string run_text(const KernelRun& run, std::size_t length, std::size_t first,
                     std::size_t last) {
  return fmt::format("k {}..{}", first * length, std::min((last + 1) * length, run.k) - 1);
}

}  // namespace binade
