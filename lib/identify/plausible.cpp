// SPDX-License-Identifier: Apache-2.0
//
// Sorts changes by how near they bring D.
#include "lib/identify/plausible.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/identify/met_runs.h"
#include "lib/identify/moved_data.h"
#include "lib/identify/moved_lines.h"
#include "lib/identify/part_weights.h"
#include "lib/identify/permuted_k.h"
#include "lib/identify/run_scales.h"
#include "lib/identify/stale_runs.h"
#include "lib/identify/stale_tiles.h"
#include "lib/identify/uncleared.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

/// Whether two changes are one and the same for these matrices.
bool is_same_fit(const ChangeFit& x, const ChangeFit& y) {
  return x.near == y.near && x.equal == y.equal && x.spread == y.spread && x.spread > 0;
}

bool is_better(const ChangeFit& fit, const ChangeFit& before) {
  return fit.spread < 0.6 * before.spread || fit.equal > before.equal + 0.04 ||
         fit.near > before.near + 0.1;
}

}  // namespace

bool is_nearer_fit(const ChangeFit& x, const ChangeFit& y) {
  const auto size = [](const ChangeFit& of) { return std::lround(std::log2(of.spread + 0x1p-80)); };
  if (std::abs(x.near - y.near) > 0.05) return x.near > y.near;
  if (size(x) != size(y)) return size(x) < size(y);
  return x.equal > y.equal;
}

std::vector<Change> changes_in(const KernelCase& given, const KernelCase& part,
                               std::span<const std::size_t> elements) {
  std::vector<Change> out = usual_changes(given);
  const auto add = [&out](std::vector<Change> more) {
    for (Change& change : more) out.push_back(std::move(change));
  };
  const bool of_all = elements.empty();
  const bool has_runs = given.run.runs.any();
  add(moved_lines(given));
  add(weighed_changes(given, of_all ? given : part));
  if (of_all) add(permuted_k(given));
  if (!has_runs) add(stale_tiles(given, part));
  add(moved_data(given, elements));
  add(uncleared(given, elements));
  if (of_all) add(met_runs(given));
  if (!has_runs) return out;
  add(stale_runs(given));
  std::erase_if(out, [&](const Change& x) { return !keeps_runs(x, given.run.runs.length); });
  return out;
}

PlausibleChanges plausible_changes(const KernelCase& given, bool has_models) {
  std::vector<Change> all = changes_in(given, sample_of(given, {}), {});
  PlausibleChanges out{.tried = all.size()};
  out.before = has_models ? fit_of(sample_of(given, {})) : ChangeFit{0, 0, 1};
  std::vector<ChangeFit> fits(all.size());
  parallel_for(all.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) fits[i] = fit_of(sample_of(given, all[i]));
  });
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_better(fits[i], out.before)) order.push_back(i);
  }
  std::ranges::stable_sort(
      order, [&](std::size_t i, std::size_t j) { return is_nearer_fit(fits[i], fits[j]); });
  for (const std::size_t i : order) {
    const auto same = std::ranges::find_if(
        out.nearest, [&](const PlausibleChange& x) { return is_same_fit(fits[i], x.fit); });
    if (same == out.nearest.end()) {
      out.nearest.push_back({std::move(all[i]), fits[i]});
    } else if (same->change.words != all[i].words &&
               std::ranges::find(same->same, all[i].words, &Change::words) == same->same.end()) {
      same->same.push_back(std::move(all[i]));
    }
  }
  return out;
}

}  // namespace binade
