// SPDX-License-Identifier: Apache-2.0
//
// Made-up experiments for tests of the command and of its page: one of each status, every mark and
// axis, gaps, and names that contain markup.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "lib/runs/experiment.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr const char* hostile =
    "</script><script>window.hit=1</script><img src=x onerror='window.hit=2'><!-- &amp; ${x}";
constexpr std::array<ExpectedFigure, 1> hostile_figures{{{"x", hostile, "{x}", 0, 1}}};
constexpr std::array<ExpectedFigure, 2> odd_figures{
    {{"drawn", "plots", "four", 4, any_larger},
     {"missing", "plots of data that are not there", "two", any_smaller, 2}}};
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Outcome run_right(const ExperimentInput& input) {
  input.print(fmt::format("quick {}\n", input.quick));
  if (input.progress) input.progress(0.5, "half");
  if (!input.dump_folder.empty()) {
    std::ofstream(std::filesystem::path(input.dump_folder) / "dumped") << "yes";
  }
  Outcome out{.as_expected = true, .verdict = "values below 2^-25, 50 % of x^3, die."};
  out.data = {{"answer", 42}};
  out.tables = {
      {"scales", {"name", "2^k", "words"}, {{"first", "12.5", "one"}, {"second", "< 3", "two"}}}};
  Series line{.name = "line"};
  Series steps{.name = "steps", .mark = Mark::steps};
  Series points{.name = "points", .mark = Mark::points};
  for (int k = -14; k <= 6; k += 2) {
    const double x = std::ldexp(1.0, k);
    line.x.push_back(x);
    line.y.push_back(k == 0 ? nan : std::pow(10.0, k / 2));
    steps.x.push_back(x);
    steps.y.push_back(k == 2 ? 0 : std::pow(10.0, -k / 2));
    points.x.push_back(x * 1.5);
    points.y.push_back(3);
  }
  out.plots.push_back({.title = "logarithms of 2^k",
                       .x_label = "x, 2^(p-1) m",
                       .y_label = "y, m",
                       .x_axis = Axis::log2,
                       .y_axis = Axis::log10,
                       .series = {line, steps, points},
                       .note = "read 2^-14 first."});
  const Series bars{.name = "a", .x = {1, 2, 3, 4}, .y = {-1, 0, 2, 4}, .mark = Mark::bars};
  const Series more{.name = "b", .x = {1, 2, 3, 4}, .y = {1, 2.5, 3, nan}, .mark = Mark::bars};
  out.plots.push_back(
      {.title = "bars", .x_label = "n", .y_label = "count", .series = {bars, more}});
  Plot many{.title = "many", .x_label = "step", .y_label = "value", .note = ""};
  for (int i = 0; i < 9; ++i) {
    many.series.push_back(
        {.name = fmt::format("2^-{} m", i), .x = {0, 10}, .y = {1.0 * i, i + 0.5}});
  }
  out.plots.push_back(many);
  return out;
}

Outcome run_wrong(const ExperimentInput&) {
  return {.as_expected = false, .verdict = "it does not."};
}

Outcome run_skipped(const ExperimentInput&) {
  return {.skipped = "Fashion-MNIST is not installed."};
}

Outcome run_failed(const ExperimentInput&) { throw Error("data.csv: no such file; restore it"); }

Outcome run_hostile(const ExperimentInput& input) {
  input.print(hostile);
  return {.as_expected = true,
          .verdict = hostile,
          .measured = {{"x", 0.5}},
          .tables = {{hostile, {hostile}, {{hostile}}}},
          .plots = {{hostile,
                     hostile,
                     hostile,
                     Axis::linear,
                     Axis::linear,
                     {{hostile, {1, 2}, {1, 2}}, {hostile, {1, 2}, {2, 1}}},
                     hostile}}};
}

/// A plot of one point, one without any, numbers at the ends of binary64, figures with one bound,
/// one of them left out.
Outcome run_odd(const ExperimentInput&) {
  Outcome out{.as_expected = true,
              .verdict = "odd.",
              .measured = {{"drawn", 4}, {"missing", std::nullopt}}};
  out.plots.push_back({"one", "x", "y", Axis::log2, Axis::linear, {{"p", {8}, {0}}}, ""});
  out.plots.push_back(
      {"none", "x", "y", Axis::linear, Axis::log10, {{"p", {}, {}}, {"q", {1}, {nan}}}, ""});
  out.plots.push_back(
      {"ends", "x", "y", Axis::log2, Axis::log10, {{"p", {5e-324, 1e308}, {1e-300, 1e300}}}, ""});
  out.plots.push_back(
      {"same", "x", "y", Axis::linear, Axis::linear, {{"p", {1, 2}, {-7, -7}}}, ""});
  return out;
}

}  // namespace

std::span<const Experiment> experiments() {
  static constexpr std::array<Experiment, 6> all{{
      {"right", "Does 2^-25 die?", "It died.", {"It does."}, &run_right, true},
      {"wrong", "Does it?", "It did not.", {"It does."}, &run_wrong, true},
      {"skipped", "Are the data there?", "Nothing.", {"They are."}, &run_skipped, true},
      {"failed", "Is the file there?", "Nothing.", {"It is."}, &run_failed},
      {"hostile", hostile, hostile, {hostile, hostile_figures}, &run_hostile},
      {"odd",
       "What of odd plots?",
       "They are drawn.",
       {"{drawn} are drawn, {missing} are not.", odd_figures},
       &run_odd},
  }};
  return all;
}

}  // namespace binade
