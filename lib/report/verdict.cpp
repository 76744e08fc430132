// SPDX-License-Identifier: Apache-2.0
//
// Asks every tensor about every format, and every role about its tensors. The range is judged by
// exact sums, at the ends of intervals of scales (range/fate.h); only the worst of each figure is
// kept, so no order of the tensors matters.
#include "lib/report/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "lib/range/rounding_noise.h"
#include "lib/report/loss_scale.h"
#include "lib/report/report.h"

namespace binade {
namespace {

constexpr std::size_t place_of_binary16 = 2;
static_assert(narrow_formats[place_of_binary16].format == binary16);

/// What is kept from step to step must be more precise than what is computed anew.
double sqnr_target(std::optional<TensorRole> role, const ReportOptions& options) {
  const bool kept = !role || role == TensorRole::weight || role == TensorRole::state;
  return kept ? options.target_weight_sqnr : options.target_sqnr;
}

TensorCost cost_at(const RoundingNoises& noises, const Format& format,
                   const ScaleInterval& in_range, int scale_log2, double target_sqnr) {
  const RoundingNoise noise = noises.at(format, scale_log2);
  const bool overflows = scale_log2 > in_range.max_log2;
  return {.fits = !overflows && scale_log2 >= in_range.min_log2 && noise.sqnr_db >= target_sqnr,
          .overflows = overflows,
          .lost_l2 = noise.lost_l2,
          .to_zero = noise.to_zero,
          .sqnr_db = noise.sqnr_db,
          .estimated = noise.estimated};
}

/// The scales at which binary16 keeps the SQNR, too. It grows with the scale until values overflow.
ScaleInterval serving_scales(const RoundingNoises& noises, ScaleInterval in_range,
                             double target_sqnr) {
  const auto serves = [&](int scale) { return noises.at(binary16, scale).sqnr_db >= target_sqnr; };
  if (in_range.empty() || serves(in_range.min_log2)) return in_range;
  int low = in_range.min_log2, high = in_range.max_log2 + 1;  // low does not serve
  while (low + 1 < high) {
    const int middle = low + (high - low) / 2;
    (serves(middle) ? high : low) = middle;
  }
  return {high, in_range.max_log2};
}

void take_worse(TensorCost& to, const TensorCost& other) {
  to.fits = to.fits && other.fits;
  to.overflows = to.overflows || other.overflows;
  to.lost_l2 = std::max(to.lost_l2, other.lost_l2);
  to.to_zero = std::max(to.to_zero, other.to_zero);
  to.sqnr_db = std::min(to.sqnr_db, other.sqnr_db);
  to.estimated = to.estimated || other.estimated;
}

constexpr TensorCost no_cost{.sqnr_db = std::numeric_limits<double>::infinity()};

/// All values of a role together.
const RangeSummary& sum_of(const std::string& role, const Report& report) {
  const auto at =
      std::ranges::find(report.roles, role, [](const RoleReport& r) { return r.all.name; });
  return at == report.roles.end() ? report.total.summary : at->all.summary;
}

/// The worst first; equal ones by name.
void keep_worst(std::vector<HeldBy>& held_by) {
  const auto rank = [](const HeldBy& x) {
    const TensorCost cost = x.cost.value_or(TensorCost{});
    return std::tuple(!cost.overflows, cost.sqnr_db, -cost.lost_l2, x.name);
  };
  std::ranges::sort(held_by, {}, rank);
  if (held_by.size() > verdict_names) held_by.resize(verdict_names);
}

}  // namespace

ScaledBy scaled_by(const Format& format, std::optional<TensorRole> role) {
  if (format.bits() == 8) return ScaledBy::own;
  return format == binary16 && role && is_gradient(*role) ? ScaledBy::loss_scale
                                                          : ScaledBy::nothing;
}

void VerdictSums::add(const TensorReport& tensor) {
  const RangeSummary& s = tensor.summary;
  const std::size_t role =
      tensor.role ? static_cast<std::size_t>(*tensor.role) : tensor_role_names.size();
  const auto key = tensor.time ? std::pair(std::string(), tensor.time->layer)
                               : std::pair(tensor.file, tensor.name);
  if (s.nonzero() == 0) {
    if (s.nan + s.inf > 0) not_finite_[role].insert(key);
    return;
  }
  const double target = sqnr_target(tensor.role, options_);
  const RoundingNoises noises(s);
  Asked asked{.norm_log2 = 0.5 * to_scaled(tensor.norms.squares).log2(),
              .not_finite = s.nan + s.inf > 0,
              .at_floor = tensor.at_floor};
  for (std::size_t i = 0; i < narrow_formats.size(); ++i) {
    const Format& format = narrow_formats[i].format;
    const ScaleInterval in_range = interval_of(s, format, options_.headroom, *tensor.tie);
    const ScaledBy by = scaled_by(format, tensor.role);
    if (by == ScaledBy::loss_scale) {
      asked.loss_scales = serving_scales(noises, in_range, target);
      asked.costs[i] = no_cost;
      continue;
    }
    const int own = std::clamp(in_range.max_log2, lowest_scale_log2, highest_scale_log2);
    asked.costs[i] = cost_at(noises, format, in_range, by == ScaledBy::own ? own : 0, target);
  }
  const auto [at, is_first] = roles_[role].try_emplace(key, asked);
  if (is_first) return;
  Asked& of = at->second;
  for (std::size_t i = 0; i < of.costs.size(); ++i) take_worse(of.costs[i], asked.costs[i]);
  of.loss_scales.min_log2 = std::max(of.loss_scales.min_log2, asked.loss_scales.min_log2);
  of.loss_scales.max_log2 = std::min(of.loss_scales.max_log2, asked.loss_scales.max_log2);
  of.norm_log2 = std::max(of.norm_log2, asked.norm_log2);
  of.not_finite = of.not_finite || asked.not_finite;
  of.at_floor = of.at_floor || asked.at_floor;
}

/// Returns log2 of the norm of all tensors together, of each its largest one.
double VerdictSums::norm_log2_of(const Tensors& tensors) {
  double largest = -std::numeric_limits<double>::infinity(), squares = 0;
  for (const auto& [key, asked] : tensors) largest = std::max(largest, asked.norm_log2);
  for (const auto& [key, asked] : tensors) {
    squares += std::exp2(2 * (asked.norm_log2 - largest));
  }
  return largest + std::log2(squares) / 2;
}

/// Returns how many tensors of a role have no finite non-zero value in any step.
std::size_t VerdictSums::nothing_finite(std::size_t role) const {
  const auto found = not_finite_.find(role);
  if (found == not_finite_.end()) return 0;
  const auto others = roles_.find(role);
  return static_cast<std::size_t>(std::ranges::count_if(found->second, [&](const auto& key) {
    return others == roles_.end() || !others->second.contains(key);
  }));
}

RoleVerdict VerdictSums::role_verdict(std::size_t index, const Tensors& tensors,
                                      const Report& report) const {
  std::optional<TensorRole> role;
  if (index < tensor_role_names.size()) role = static_cast<TensorRole>(index);
  RoleVerdict out{.role = std::string(tensor_role_name(role)),
                  .target_sqnr = sqnr_target(role, options_),
                  .format = {},
                  .formats = {}};
  const double least_norm = norm_log2_of(tensors) + negligible_log2;
  const auto is_negligible = [&](const Asked& asked) {
    return role == TensorRole::d_weight && asked.norm_log2 <= least_norm;
  };
  const auto not_finite = not_finite_.find(index);
  for (const auto& [key, asked] : tensors) {
    ++out.tensors;
    if (is_negligible(asked) && out.negligible++ == 0) out.first_negligible = key.second;
    const bool in_part = not_finite != not_finite_.end() && not_finite->second.contains(key);
    out.not_finite += asked.not_finite || in_part ? 1 : 0;
    out.at_floor += asked.at_floor && !is_negligible(asked) ? 1 : 0;
  }
  out.nothing_finite = nothing_finite(index);
  out.not_finite += out.nothing_finite;
  for (std::size_t i = 0; i < narrow_formats.size(); ++i) {
    FormatVerdict& of = out.formats[i];
    const Format& format = narrow_formats[i].format;
    of.name = narrow_formats[i].name;
    of.scaled_by = scaled_by(format, role);
    const bool by_loss_scale = of.scaled_by == ScaledBy::loss_scale;
    if (by_loss_scale) of.scale_log2 = report.loss_scale.recommended_log2;
    TensorCost worst = no_cost;
    for (const auto& [key, asked] : tensors) {
      if (is_negligible(asked)) continue;
      const TensorCost& cost = asked.costs[i];
      const bool fits = !by_loss_scale
                            ? cost.fits
                            : of.scale_log2 && *of.scale_log2 >= asked.loss_scales.min_log2 &&
                                  *of.scale_log2 <= asked.loss_scales.max_log2;
      if (!by_loss_scale) take_worse(worst, cost);
      if (fits) continue;
      ++of.failing;
      HeldBy& held = of.held_by.emplace_back();
      held.name = key.second;
      if (by_loss_scale)
        held.loss_scales = asked.loss_scales;
      else
        held.cost = cost;
    }
    keep_worst(of.held_by);
    if (!by_loss_scale) {
      of.cost = worst;
    } else if (of.scale_log2) {
      const RoundingNoises all(sum_of(out.role, report));
      const ScaleInterval any{lowest_scale_log2, highest_scale_log2};
      of.cost = cost_at(all, format, any, *of.scale_log2, out.target_sqnr);
      of.cost->fits = of.failing == 0;
    }
    if (out.format.empty() && of.failing == 0 && of.cost) out.format = of.name;
  }
  return out;
}

bool VerdictSums::is_finite(TensorRole role) const {
  const auto index = static_cast<std::size_t>(role);
  const auto tensors = roles_.find(index);
  return !not_finite_.contains(index) &&
         (tensors == roles_.end() || std::ranges::none_of(tensors->second, [](const auto& of) {
            return of.second.not_finite;
          }));
}

NarrowestFormats VerdictSums::finish(const Report& report) const {
  NarrowestFormats out;
  for (const auto& [index, tensors] : roles_) {
    out.roles.push_back(role_verdict(index, tensors, report));
    for (const FormatVerdict& of : out.roles.back().formats) {
      out.estimated = out.estimated || (of.cost && of.cost->estimated);
    }
  }
  for (const auto& [index, keys] : not_finite_) {
    if (roles_.contains(index)) continue;
    std::optional<TensorRole> role;
    if (index < tensor_role_names.size()) role = static_cast<TensorRole>(index);
    out.withheld.emplace_back(tensor_role_name(role));
  }
  if (report.watched && report.watched->first_nonfinite &&
      !report.watched->first_nonfinite->only_skipped) {
    out.broke_at = report.watched->first_nonfinite->step;
    const std::vector<RunWindow>& windows = report.watched->windows;
    out.went_on = !windows.empty() && windows.back().last > *out.broke_at &&
                  is_finite(TensorRole::weight) && is_finite(TensorRole::update) &&
                  is_finite(TensorRole::state);
  }
  return out;
}

}  // namespace binade
