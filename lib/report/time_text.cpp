// SPDX-License-Identifier: Apache-2.0
//
// Shows at most twelve steps in 100 columns, for all layers together. The HTML page and the JSON
// have each layer.
#include "lib/report/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "lib/text/error.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

constexpr std::size_t most_steps = 12;
constexpr std::size_t line = 99;
constexpr std::size_t label = 22;
constexpr std::size_t unpaired_shown = 5;

/// The steps that are shown, and the width of their columns.
struct Columns {
  std::vector<std::uint64_t> steps;
  std::size_t width;
};

Columns columns_for(const TimeReport& time) {
  const std::size_t width = std::max<std::size_t>(6, std::to_string(time.steps.back()).size() + 1);
  const std::size_t fitting = std::max<std::size_t>(2, (line - label) / width);
  Columns out{{}, width};
  for (const std::size_t i : chosen_steps(time.steps.size(), std::min(most_steps, fitting))) {
    out.steps.push_back(time.steps[i]);
  }
  return out;
}

/// Returns per cent in at most five columns. Only exactly 0 is printed as 0, and only exactly 100
/// as 100.
std::string narrow_percent(std::optional<double> share) {
  if (!share) return "-";
  const double p = 100 * *share;
  if (p == 0 || *share == 1) return p == 0 ? "0" : "100";
  if (p >= 99.95) return ">99.9";
  if (p >= 0.95) return fmt::format("{:.1f}", p);
  if (p >= 0.095) return fmt::format("{:.2f}", p);
  if (p >= 0.001) return fmt::format("{:.1g}", p);
  if (p < 9.5e-100) return ">0";
  std::string digit = fmt::format("{:.0e}", p);  // as in 4e-05
  const std::size_t zero = digit.find("e-0");
  return zero == std::string::npos ? digit : digit.erase(zero + 2, 1);
}

std::optional<double> part(std::uint64_t count, std::uint64_t of) {
  if (of == 0) return {};
  return static_cast<double>(count) / static_cast<double>(of);
}

template <class Points>
auto point_at(const Points& points, std::uint64_t step) {
  const auto at = std::ranges::find(points, step, [](const auto& point) { return point.step; });
  return at == points.end() ? nullptr : &*at;
}

/// Returns a line such as "  to zero    dAct       3.5  18.2": a first word, a second, and a cell
/// per step.
template <class Cell>
std::string row(const char* first, std::string_view second, const Columns& columns,
                const Cell& cell) {
  std::string out = fmt::format("  {:<11}{:<9}", first, second);
  for (const std::uint64_t step : columns.steps) {
    out += fmt::format("{:>{}}", cell(step), columns.width);
  }
  return out + "\n";
}

/// A function that returns a number of a point in its first format.
using Number = std::optional<double> (*)(const TimePoint&);

struct Question {
  const char* label;
  Number number;
};
constexpr std::array<Question, 3> questions{{
    {"to zero", [](const TimePoint& p) { return part(p.formats[0].to_zero, p.nonzero()); }},
    {"subnormal", [](const TimePoint& p) { return part(p.formats[0].subnormal, p.nonzero()); }},
    {"lost l2", [](const TimePoint& p) { return p.lost_l2(0); }},
}};

std::string shares(const TimeReport& time, const Columns& columns) {
  std::string out;
  for (const Question& question : questions) {
    const char* name = question.label;
    for (const TimeSeries& series : time.series) {
      if (series.layer) continue;
      out += row(name, tensor_role_name(series.role), columns, [&](std::uint64_t step) {
        const TimePoint* point = point_at(series.points, step);
        return point ? narrow_percent(question.number(*point)) : std::string("-");
      });
      name = "";
    }
  }
  return out;
}

std::uint64_t not_finite(const TimePoint& p) { return p.nan + p.inf; }

/// Returns the rows of the roles that hold NaN or Inf in any step, whether the step is shown or
/// not.
std::string not_finite_rows(const TimeReport& time, const Columns& columns) {
  std::string out;
  for (const TimeSeries& series : time.series) {
    const auto holds = [](const TimePoint& point) { return not_finite(point) > 0; };
    if (series.layer || std::ranges::none_of(series.points, holds)) continue;
    out += row(out.empty() ? "NaN or Inf" : "", tensor_role_name(series.role), columns,
               [&](std::uint64_t step) {
                 const TimePoint* point = point_at(series.points, step);
                 return point ? narrow_percent(part(not_finite(*point), point->values))
                              : std::string("-");
               });
  }
  return out;
}

/// Returns the steps in which any value is NaN or Inf, rising.
std::vector<std::uint64_t> steps_with_not_finite(const TimeReport& time) {
  std::set<std::uint64_t> steps;
  for (const TimeSeries& series : time.series) {
    for (const TimePoint& point : series.points) {
      if (not_finite(point) > 0) steps.insert(point.step);
    }
  }
  return {steps.begin(), steps.end()};
}

std::string scales(const TimeReport& time, const Columns& columns) {
  if (time.loss_scales.empty()) return "";
  const auto end = [&](const char* first, const char* second, int ScaleInterval::*which) {
    return row(first, second, columns, [&](std::uint64_t step) {
      const StepScale* at = point_at(time.loss_scales, step);
      return at && at->scale.interval ? fmt::format("2^{}", (*at->scale.interval).*which)
                                      : std::string("-");
    });
  };
  return end("loss scale", "S_min", &ScaleInterval::min_log2) +
         end("", "S_max", &ScaleInterval::max_log2);
}

bool has_lost(const UpdatePoint& p) { return p.counts.held.lost != 0; }
bool has_lost_decay(const UpdatePoint& p) { return p.counts.held.decay_lost != 0; }

/// Returns the rows of what weights lost in the dtype that they have, where they lost any in any
/// step.
std::string held_updates(const std::vector<UpdatePoint>& points, const Columns& columns) {
  std::string out;
  const auto cells = [&](std::string_view second, std::uint64_t HeldUpdates::*lost,
                         std::uint64_t HeldUpdates::*of) {
    out += row(out.empty() ? "unmoved by" : "", second, columns, [&](std::uint64_t step) {
      const UpdatePoint* at = point_at(points, step);
      return at ? narrow_percent(part(at->counts.held.*lost, at->counts.held.*of))
                : std::string("-");
    });
  };
  if (std::ranges::any_of(points, has_lost)) {
    cells("gradient", &HeldUpdates::lost, &HeldUpdates::asked);
  }
  if (std::ranges::any_of(points, has_lost_decay)) {
    cells("decay", &HeldUpdates::decay_lost, &HeldUpdates::decay_asked);
  }
  return out;
}

/// Returns how small the updates were that weights lost; empty if they lost none.
std::string held_legend(const std::vector<UpdatePoint>& points) {
  if (std::ranges::none_of(points,
                           [](const UpdatePoint& p) { return has_lost(p) || has_lost_decay(p); })) {
    return "";
  }
  std::string out =
      " Unmoved: per cent of the weights that a gradient, or weight decay, was to change and that "
      "stayed as they were in the dtype that they have";
  HeldUpdates all;
  for (const UpdatePoint& point : points) merge(all, point.counts.held);
  if (const std::optional<int> size = all.median_log2_of_ulp()) {
    out += fmt::format(
        "; half of what the optimizer wanted there was below 2^{} of the weight's ulp", *size);
  }
  if (all.unknown > 0) {
    out +=
        fmt::format("; what the optimizer wanted is not known for {} of {}", all.unknown, all.lost);
  }
  return out + ".";
}

std::string updates(const TimeReport& time, const Columns& columns) {
  if (time.updates.empty()) return "";
  const std::vector<UpdatePoint>& points = time.updates.front().points;  // of all layers together
  const auto cells = [&](const char* first, std::string_view second, const auto& count) {
    return row(first, second, columns, [&](std::uint64_t step) {
      const UpdatePoint* at = point_at(points, step);
      return at ? narrow_percent(part(count(at->counts), at->counts.updates)) : std::string("-");
    });
  };
  std::string out = cells("update", "<2^-11 w", [](const UpdateCounts& c) { return c.below_2_11; });
  for (std::size_t f = 0; f < weight_formats.size(); ++f) {
    out += cells(f == 0 ? "lost in" : "", weight_formats[f].name,
                 [f](const UpdateCounts& c) { return c.kept_in[f].lost; });
  }
  return out + held_updates(points, columns);
}

std::string legend(const TimeReport& time) {
  std::string out = fmt::format(
      "  to zero, subnormal: per cent of the non-zero values in {} at scale 1; lost l2: per "
      "cent of the norm.",
      time.formats.front().name);
  const std::vector<std::uint64_t> odd = steps_with_not_finite(time);
  if (!odd.empty()) {
    out += fmt::format(" NaN or Inf: per cent of all values; in {} of {} steps, first in step {}.",
                       odd.size(), time.steps.size(), odd.front());
  }
  if (!time.loss_scales.empty()) {
    out += " Loss scale: of the step's gradients together; S_min above S_max: none serves all";
    const bool any = std::ranges::any_of(
        time.loss_scales, [](const StepScale& at) { return !at.scale.interval.has_value(); });
    out += any ? "; -: they hold NaN or Inf, or nothing but 0." : ".";
  }
  if (!time.updates.empty()) {
    out +=
        " Update: per cent of the non-zero updates u; lost: a weight w kept in that format does "
        "not change, round(w - u) = w.";
    out += held_legend(time.updates.front().points);
  }
  return wrapped(out, 2);
}

std::string unpaired_text(const TimeReport& time) {
  std::string out;
  for (std::size_t i = 0; i < std::min(unpaired_shown, time.unpaired.size()); ++i) {
    const UnpairedUpdate& update = time.unpaired[i];
    out += fmt::format("  not compared with a weight: {} ({})\n", printable(update.name),
                       update.reason);
  }
  if (time.unpaired.size() > unpaired_shown) {
    out += fmt::format("  … and {} more updates\n", time.unpaired.size() - unpaired_shown);
  }
  return out;
}

}  // namespace

std::vector<std::size_t> chosen_steps(std::size_t n, std::size_t most) {
  std::vector<std::size_t> out;
  const std::size_t shown = std::min(n, most);
  for (std::size_t i = 0; i < shown; ++i) {
    out.push_back(shown == 1 ? 0 : (2 * i * (n - 1) + shown - 1) / (2 * (shown - 1)));
  }
  return out;
}

std::string time_text(const TimeReport& time, bool color) {
  const Columns columns = columns_for(time);
  const std::string head = color ? "\x1b[1mOver time\x1b[0m" : "Over time";
  const std::string which =
      columns.steps.size() == time.steps.size()
          ? fmt::format("{} steps", time.steps.size())
          : fmt::format("{} of {} steps, evenly chosen", columns.steps.size(), time.steps.size());
  return fmt::format("\n{}   {}; {} layer{} together\n", head, which, time.layers.size(),
                     time.layers.size() == 1 ? "" : "s") +
         row("step", "", columns, [](std::uint64_t step) { return std::to_string(step); }) +
         shares(time, columns) + not_finite_rows(time, columns) + scales(time, columns) +
         updates(time, columns) + legend(time) + unpaired_text(time);
}

}  // namespace binade
