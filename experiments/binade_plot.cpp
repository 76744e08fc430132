// SPDX-License-Identifier: Apache-2.0
//
// Draws counts per binade as a staircase; empty binades between others are drawn as zero.
#include "experiments/binade_plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace binade {

Plot binade_plot(std::string title) {
  return {.title = std::move(title),
          .x_label = "|x|, by binade",
          .y_label = "share of the non-zero values, %",
          .x_axis = Axis::log2,
          .note =
              "Values below 2^-25 become zero in binary16 at loss scale 1, values from there up to "
              "2^-14 subnormal."};
}

void add_binades(Plot& plot, std::string name, const RangeSummary& summary) {
  constexpr int lowest_drawn = -45;
  if (summary.binades.empty()) return;
  Series curve{.name = std::move(name), .mark = Mark::steps};
  const int first = std::max(lowest_drawn, summary.binades.begin()->first);
  for (int e = first; e <= summary.binades.rbegin()->first; ++e) {
    const auto row = summary.binades.find(e);
    const std::uint64_t values = row == summary.binades.end() ? 0 : row->second.total();
    curve.x.push_back(std::ldexp(1.0, e));
    curve.y.push_back(100 * static_cast<double>(values) / static_cast<double>(summary.nonzero()));
  }
  plot.series.push_back(std::move(curve));
}

}  // namespace binade
