// SPDX-License-Identifier: Apache-2.0
//
// Sorts changes by how near they bring some elements, and counts the nearest by the model.
#include "lib/identify/changed_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "emulate/gemm.h"
#include "lib/identify/change_fit.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/misplaced.h"
#include "lib/identify/plausible.h"
#include "lib/identify/search.h"
#include "lib/number/spread_places.h"

namespace binade {
namespace {

/// How many elements of dots a model gives.
std::size_t equal_dots(const KernelCase& dots, const GemmModel& model) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < dots.run.size(); ++at) {
    const std::uint64_t d = gemm_element(model, dots.run.element(at));
    out += is_same_result(d, dots.run.d[at], model.epilogue.out, any_nan_fits(model)) ? 1U : 0U;
  }
  return out;
}

}  // namespace

std::optional<PartChange> change_of_part(const KernelCase& given,
                                         std::span<const std::size_t> wrong,
                                         const GemmModel& model) {
  constexpr std::size_t least_wrong = 8, most_sampled = 256, most_tried = 8;
  if (wrong.size() < least_wrong) return std::nullopt;
  std::vector<std::size_t> rows, columns;
  for (const std::size_t i : spread_places(wrong.size(), most_sampled)) {
    rows.push_back(given.run.row(wrong[i]));
    columns.push_back(given.run.column(wrong[i]));
  }
  const auto part = std::make_shared<const KernelCase>(part_of(given, {}, rows, columns, true));
  const ChangeFit before = fit_of(*part);
  // What lies within rounding is rounded otherwise.
  if (2 * before.near > 1) return std::nullopt;
  std::vector<Change> all = changes_in(given, *part, wrong);
  struct Fit {
    Change* change;
    ChangeFit fit;
  };
  std::vector<Fit> fits;
  for (Change& change : all) {
    const ChangeFit fit = fit_of(part_of(given, change, rows, columns, true));
    if (fit.near >= before.near && fit.spread <= before.spread / 4) fits.push_back({&change, fit});
  }
  std::ranges::stable_sort(fits,
                           [](const Fit& x, const Fit& y) { return is_nearer_fit(x.fit, y.fit); });
  if (fits.empty()) return std::nullopt;
  Change* best = fits[0].change;
  std::size_t most = 0, tried = 0;
  for (const auto& [change, fit] : fits) {
    if (tried++ == most_tried || most == rows.size()) break;
    if (!change->has_same_models() && change->places.empty()) continue;
    const std::size_t equal = equal_dots(part_of(given, *change, rows, columns, true), model);
    if (equal <= most) continue;
    best = change;
    most = equal;
  }
  return PartChange{std::move(*best), part};
}

std::string part_words(const KernelCase& given, std::span<const std::size_t> wrong,
                       const std::vector<std::uint64_t>& emulated, const Change& change,
                       std::size_t equal) {
  const auto is_negative = [&](std::size_t at) {
    return number_in(emulated[at], given.types.d) < 0;
  };
  std::size_t negative = 0;
  for (std::size_t at = 0; at < emulated.size(); ++at) negative += is_negative(at) ? 1U : 0U;
  std::string where;
  if (std::ranges::all_of(wrong, is_negative) && 20 * wrong.size() > 19 * negative) {
    const bool is_slope = change.alpha > 0 && change.alpha < 1;
    where = std::string("where the sum is below 0") + (is_slope ? ", as by a LeakyReLU" : "");
  } else {
    where = "in " + region_words(given.run, wrong);
  }
  const std::string count =
      equal == wrong.size()
          ? std::string()
          : fmt::format(" ({} of these {} elements are equal so)", equal, wrong.size());
  return fmt::format("{}, {}{}", change.words, where, count);
}

}  // namespace binade
