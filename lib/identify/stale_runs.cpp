// SPDX-License-Identifier: Apache-2.0
//
// Stages are few, so that a stale one is that of a few runs before.
#include "lib/identify/stale_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "emulate/project.h"
#include "lib/identify/run_parts.h"

namespace binade {
namespace {

constexpr std::size_t most_stages = 4, most_runs_tried = 64, most_runs_exchanged = 16;

/// Runs of K but those from first to last. An instruction sums several short ones, which keep their
/// places: products with zeros stand for those that are left out.
Change without(const KernelCase& given, std::size_t first, std::size_t last) {
  constexpr std::size_t least_promoted = 64;
  const KernelRun& run = given.run;
  const std::size_t length = run.runs.length;
  Change x{.words = fmt::format("of K, {} left out", run_text(run, length, first, last))};
  const auto is_out = [=](std::size_t k) { return k / length >= first && k / length <= last; };
  if (length < least_promoted) {
    x.a = [&a = run.a, n = run.k, is_out, zero = zero_bits(given.types.a, false)](
              std::size_t i, std::size_t k) { return is_out(k) ? zero : a[i * n + k]; };
    return x;
  }
  for (std::size_t k = 0; k < run.k; ++k) {
    if (!is_out(k)) x.places.push_back(k);
  }
  return x;
}

}  // namespace

std::vector<Change> stale_runs(const KernelCase& given) {
  const KernelRun& run = given.run;
  std::vector<Change> out;
  if (!run.runs.any()) return out;
  const std::size_t runs = run.runs.count(run.k), tried = std::min(runs, most_runs_tried);
  // Weights say the same, but not beside a scale that outweighs the others.
  for (std::size_t at = 0; runs > 1 && at < tried; ++at) {
    out.push_back(without(given, at, at));
    if (at > 0 && at + 1 < runs) out.push_back(without(given, 0, at));
    if (at > 0 && at + 1 < runs) out.push_back(without(given, at, runs - 1));
  }
  std::vector<std::size_t> own(runs);
  std::iota(own.begin(), own.end(), std::size_t{0});
  for (const MovedParts& moved : moved_parts) {
    if (!has_parts(run, moved)) continue;
    const bool is_data = moved.a.data || moved.b.data;
    for (std::size_t back = 1; back <= most_stages && back < runs; ++back) {
      for (std::size_t at = back; at < tried; ++at) {
        std::vector<std::size_t> from = own;
        from[at] -= back;
        out.push_back(moved_runs(run, moved, from));
      }
      if (!is_data || runs == back + 1) continue;  // run_scales.h has those of scales alone
      std::vector<std::size_t> late = own, early = own;
      for (std::size_t at = back; at < runs; ++at) {
        late[at] -= back;
        early[at - back] += back;
      }
      out.push_back(moved_runs(run, moved, late));
      if (run.k % run.runs.length == 0) out.push_back(moved_runs(run, moved, early));
    }
    // The last run may be shorter: none but whole ones are exchanged.
    const std::size_t whole = std::min(run.k / run.runs.length, most_runs_exchanged);
    for (std::size_t at = 0; at < whole; ++at) {
      for (std::size_t with = at + 1; with < whole; ++with) {
        std::vector<std::size_t> from = own;
        std::swap(from[at], from[with]);
        out.push_back(moved_runs(run, moved, from));
      }
    }
  }
  return out;
}

}  // namespace binade
