// SPDX-License-Identifier: Apache-2.0
//
// Question: where does a sum in a short format stop growing, and what cures it? An addend of at
// most half an ulp of the sum is lost ("swamping"). In a format of precision p a sum of ones stops
// at 2^p. Wang et al. 2018 (1812.08011, figure 3) add uniform values of mean 1 and deviation 1,
// which are at most 1 + sqrt(3) = 2.73: their sum stops at 2^(p + 2), where half an ulp is 4. Their
// cure is to add in chunks of 64.
//
// short_sums.h has the sums, swamped_products.cpp the matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "emulate/carrier.h"
#include "experiments/draws.h"
#include "experiments/short_sums.h"
#include "experiments/swamped_products.h"
#include "lib/runs/experiment.h"

namespace binade {
namespace {

/// The format of Wang et al.: a sign, 6 bits of exponent and 9 bits of fraction.
constexpr Format wang_1_6_9{6, 10, 31};

struct Summed {
  const char* name;
  Format format;
  int count_log2;  ///< log2 of a number of values whose sum does not overflow (65 536 does in
                   ///< binary16)
};
constexpr std::array<Summed, 5> summed{{{"binary16", binary16, 15},
                                        {"bfloat16", bfloat16, 16},
                                        {"1-6-9", wang_1_6_9, 16},
                                        {"e5m2", e5m2, 15},
                                        {"e4m3", e4m3, 8}}};

Values ones(std::size_t n) { return Values(n, 1.0); }
Values uniform(std::size_t n) {
  Draws draws(2018, 1);
  Values out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(1 + std::sqrt(3.0) * (2 * draws.uniform() - 1));
  return out;
}
Values normal(std::size_t n) {
  Draws draws(2018, 2);
  Values out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(1 + draws.normal());
  return out;
}

constexpr std::size_t chunk_of_wang = 64;
constexpr int least_precision = 8;  ///< Kahan's and pairwise sums cure formats from this precision

struct Law {
  const char* name;
  Values (*values)(std::size_t n);
  int above_p;  ///< the sum stops at 2^(p + above_p); negative: no law, the values are unbounded
};
constexpr std::array<Law, 3> laws{{{"ones", &ones, 0},
                                   {"uniform, mean 1, deviation 1", &uniform, 2},
                                   {"normal, mean 1, deviation 1", &normal, -1}}};

std::string sum_figure(double x) { return std::isfinite(x) ? fmt::format("{:.6g}", x) : "inf"; }

/// Returns where a naive sum stops by a publication or by this project's pilot; empty if neither
/// has it.
std::string published(std::string_view law, std::string_view format) {
  if (law == "ones") return format == "binary16" ? "2048" : "";
  if (law[0] != 'u') return "";
  return format == "1-6-9"      ? "4096 (Wang)"
         : format == "binary16" ? "8192 (pilot)"
         : format == "bfloat16" ? "1024 (pilot)"
                                : "";
}

/// Adds 2^16 values one after another, and reports the sum and when it changed last. Returns
/// whether each sum stops where the law says.
bool tell_stalls(Outcome& out) {
  Table table{"Naive sums of 65,536 values, to nearest",
              {"values", "format", "p", "published", "law", "measured", "last change", "exact"},
              {}};
  Plot plot{"A sum stops growing",
            "values added",
            "sum",
            Axis::log2,
            Axis::log2,
            {},
            "Uniform values of mean 1 and deviation 1. The exact sum is a straight line."};
  bool as_said = true;
  for (const Law& law : laws) {
    for (const Summed& row : summed) {
      const Values values = rounded(law.values(std::size_t{1} << 16), row.format);
      Adder adder(row.format);
      Series series{row.name, {}, {}};
      double sum = 0;
      std::size_t last_change = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double next = adder.add(sum, values[i]);
        if (next != sum) last_change = i + 1;
        sum = next;
        if (std::has_single_bit(i + 1)) {
          series.x.push_back(static_cast<double>(i + 1));
          series.y.push_back(sum);
        }
      }
      const bool has_law = law.above_p >= 0;
      const double expected = has_law ? std::ldexp(1.0, row.format.precision + law.above_p) : 0;
      as_said = as_said && (!has_law || sum == expected);
      table.rows.push_back({law.name, row.name, std::to_string(row.format.precision),
                            published(law.name, row.name), has_law ? sum_figure(expected) : "",
                            sum_figure(sum), std::to_string(last_change),
                            sum_figure(exact_sum_of(values))});
      out.data["stalls"].push_back({{"values", law.name},
                                    {"format", row.name},
                                    {"law", has_law ? expected : -1},
                                    {"sum", sum},
                                    {"last_change", last_change},
                                    {"exact", exact_sum_of(values)}});
      if (law.above_p == 2) plot.series.push_back(std::move(series));
    }
  }
  out.tables.push_back(std::move(table));
  out.plots.push_back(std::move(plot));
  return as_said;
}

double sum_error(double sum, double exact) { return std::abs(sum - exact) / exact; }

/// Adds in chunks of 1 to 4096 values. Returns the relative error of the format 1-6-9 with chunks
/// of 64.
double sweep_chunks(const ExperimentInput& input, Outcome& out) {
  Table table{"Relative error of sums in chunks (65,536 uniform values, in binary16 32,768)",
              {"chunk"},
              {}};
  Plot plot{"Chunks cure swamping",
            "values in a chunk",
            "relative error",
            Axis::log2,
            Axis::log10,
            {},
            "A chunk of 1 is the naive sum. Too long a chunk stalls within itself."};
  double at_64 = 1;
  for (std::size_t chunk = 1; chunk <= 4096; chunk *= 2) {
    table.rows.push_back({std::to_string(chunk)});
  }
  for (const Summed& row : std::span(summed).first(3)) {
    const Values values = rounded(uniform(std::size_t{1} << row.count_log2), row.format);
    const double exact = exact_sum_of(values);
    Series series{row.name, {}, {}};
    table.columns.emplace_back(row.name);
    std::size_t line = 0;
    for (std::size_t chunk = 1; chunk <= 4096; chunk *= 2) {
      Adder adder(row.format);
      const double sum = chunked(values, chunk, adder);
      const double error = sum_error(sum, exact);
      table.rows[line++].push_back(fmt::format("{:.2e}", error));
      series.x.push_back(static_cast<double>(chunk));
      series.y.push_back(error);
      out.data["chunks"].push_back({{"format", row.name},
                                    {"chunk", chunk},
                                    {"sum", sum},
                                    {"exact", exact},
                                    {"relative_error", error}});
      if (chunk == chunk_of_wang && row.format == wang_1_6_9) {
        at_64 = error;
        input.print(
            fmt::format("\n1-6-9 in chunks of 64: {:.0f}, exactly {:.0f} (pilot: 65 472 of "
                        "65 720).\n",
                        sum, exact));
      }
    }
    plot.series.push_back(std::move(series));
  }
  out.tables.push_back(std::move(table));
  out.plots.push_back(std::move(plot));
  return at_64;
}

/// Compares the naive sum with every cure. Returns the worst relative error of the cures other than
/// chunks, over formats of at least 8 bits of precision.
double tell_cures(Outcome& out) {
  using Sum = std::function<double(std::span<const double>, const Format&)>;
  const auto in = [](auto sum) {
    return [sum](std::span<const double> v, const Format& f) {
      Adder adder(f);
      return sum(v, adder);
    };
  };
  const std::vector<std::pair<const char*, Sum>> cures{
      {"naive", in(naive)},
      {"chunks of 64", in([](std::span<const double> v, Adder& a) { return chunked(v, 64, a); })},
      {"pairwise", in(pairwise)},
      {"Kahan", in(kahan)},
      {"binary32", [&](std::span<const double> v, const Format& f) {
         Adder wide(binary32), to(f);
         return to.rounded(naive(v, wide));
       }}};
  Table table{
      "Relative error by cure (uniform values; as many as do not overflow)", {"format"}, {}};
  for (const auto& [name, sum] : cures) table.columns.emplace_back(name);
  double worst = 0;
  for (const Summed& row : summed) {
    const Values values = rounded(uniform(std::size_t{1} << row.count_log2), row.format);
    const double exact = exact_sum_of(values);
    std::vector<std::string> cells{fmt::format("{}, 2^{} values", row.name, row.count_log2)};
    for (const auto& [name, sum] : cures) {
      const double got = sum(values, row.format);
      const double error = sum_error(got, exact);
      const std::string_view cure = name;
      if (cure != "naive" && cure != "chunks of 64" && row.format.precision >= least_precision) {
        worst = std::max(worst, error);
      }
      cells.push_back(fmt::format("{:.2e}", error));
      out.data["cures"].push_back({{"format", row.name},
                                   {"cure", name},
                                   {"sum", got},
                                   {"exact", exact},
                                   {"relative_error", error}});
    }
    table.rows.push_back(std::move(cells));
  }
  out.tables.push_back(std::move(table));
  return worst;
}

/// Returns the standard deviation of a stochastically rounded sum: an addition whose exact result
/// lies the share f of an ulp above a number of the format contributes the variance f·(1 - f)·ulp².
double stochastic_deviation(const Values& values, const Format& f) {
  double sum = 0;
  double variance = 0;
  for (const double x : values) {
    sum += x;
    const double ulp =
        std::ldexp(1.0, std::ilogb(std::max(std::abs(sum), 1.0)) - f.fraction_bits());
    const double dropped = std::fmod(std::abs(x), ulp);
    variance += dropped * (ulp - dropped);
  }
  return std::sqrt(variance);
}

/// Computes stochastically rounded naive sums several times. Returns whether they scatter around
/// the exact sum as the law says: the mean of the runs lies within four standard deviations of such
/// a mean, and their standard deviation is right within a factor of two.
bool tell_stochastic(Outcome& out) {
  constexpr int runs = 32;
  Table table{fmt::format("Stochastic rounding: {} naive sums", runs),
              {"format", "exact", "mean", "deviation", "by the law", "nearest sum", "farthest sum"},
              {}};
  bool as_said = true;
  for (const Summed& row : std::span(summed).first(3)) {
    const Values values = rounded(uniform(std::size_t{1} << row.count_log2), row.format);
    const double exact = exact_sum_of(values);
    const double law = stochastic_deviation(values, row.format);
    Values errors;
    for (int i = 0; i < runs; ++i) {
      Adder adder(row.format, Rounding::stochastic, 100 + static_cast<std::uint64_t>(i));
      errors.push_back(naive(values, adder) - exact);
    }
    const double mean = exact_sum_of(errors) / runs;
    double squares = 0;
    for (const double e : errors) squares += (e - mean) * (e - mean);
    const double deviation = std::sqrt(squares / (runs - 1));
    const auto [least, most] =
        std::ranges::minmax_element(errors, {}, [](double e) { return std::abs(e); });
    as_said = as_said && std::abs(mean) < 4 * law / std::sqrt(runs) && deviation < 2 * law &&
              deviation > law / 2;
    table.rows.push_back({fmt::format("{}, 2^{} values", row.name, row.count_log2),
                          sum_figure(exact), fmt::format("{:.0f}", exact + mean),
                          fmt::format("{:.0f}", deviation), fmt::format("{:.0f}", law),
                          sum_figure(exact + *least), sum_figure(exact + *most)});
    out.data["stochastic"].push_back({{"format", row.name},
                                      {"runs", runs},
                                      {"exact", exact},
                                      {"mean", exact + mean},
                                      {"deviation", deviation},
                                      {"law", law}});
  }
  out.tables.push_back(std::move(table));
  return as_said;
}

Outcome run_swamping(const ExperimentInput& input) {
  Outcome out;
  const bool stalls = tell_stalls(out);
  const double at_64 = sweep_chunks(input, out);
  const double worst_cure = tell_cures(out);
  const bool scatter = tell_stochastic(out);
  const SwampedProducts products = sweep_k(input, out);
  const auto stalled = [&out](std::string_view values, std::string_view format) {
    for (const auto& row : out.data["stalls"]) {
      if (row["values"] == values && row["format"] == format) return row["sum"].get<double>();
    }
    return std::nan("");
  };
  out.measured = {{"ones", stalled(laws[0].name, "binary16")},
                  {"wang", stalled(laws[1].name, "1-6-9")},
                  {"half", stalled(laws[1].name, "binary16")},
                  {"bfloat", stalled(laws[1].name, "bfloat16")},
                  {"chunk", chunk_of_wang},
                  {"chunked", at_64},
                  {"precision", least_precision},
                  {"cured", worst_cure},
                  {"k", static_cast<double>(largest_k(input.quick))},
                  {"times", products.half / products.split}};
  out.as_expected = stalls && scatter && products.single_as_cut;
  out.verdict = fmt::format(
      "naive sums {} where the law says; in chunks of 64 the 1-6-9 sum is off by {:.2g} %, in "
      "pairs or by Kahan at precision 8 and more by at most {:.2g} %, and stochastic sums {} the "
      "exact one; positive products at the largest K are off by {:.2g} % with an f16 "
      "accumulator, {:.2g} % with K in 64s and {:.2g} % with an f32 one, which truncates.",
      stalls ? "stop exactly" : "do NOT stop", 100 * at_64, 100 * worst_cure,
      scatter ? "scatter without bias around" : "do NOT scatter as the law says around",
      100 * products.half, 100 * products.split, 100 * products.single);
  return out;
}

constexpr std::array<ExpectedFigure, 10> swamping_figures{{
    {"ones", "sum of ones in binary16", "2048", 2048, 2048},
    {"wang", "sum of uniform values in 1-6-9", "4096", 4096, 4096},
    {"half", "sum of uniform values in binary16", "8192", 8192, 8192},
    {"bfloat", "sum of uniform values in bfloat16", "1024", 1024, 1024},
    {"chunk", "values in a chunk", "64", 64, 64, true},
    {"chunked", "relative error of 1-6-9 in chunks", "1 %", any_smaller, 0.01},
    {"precision", "least precision that pairs and Kahan cure", "8", 8, 8, true},
    {"cured", "largest relative error of pairs and Kahan", "1 %", any_smaller, 0.01},
    {"k", "largest K", "65 536", 65536, 65536, true},
    {"times", "error of an f16 accumulator over that in chunks of K", "100", 100, any_larger},
}};

constexpr std::array<ExpectedFigure, 2> swamping_quick{{
    {"k", "largest K", "4096", 4096, 4096, true},
    {"times", "error of an f16 accumulator over that in chunks of K", "five", 5, any_larger},
}};

}  // namespace

constexpr std::string_view swamping_said =
    "To nearest, ones stop at two to the precision ({ones} in binary16), uniform values of mean "
    "and deviation one at four times that: {wang} in 1-6-9 (Wang et al. 2018), {half} in "
    "binary16, {bfloat} in bfloat16; chunks of {chunk} bring 1-6-9 to within {chunked}, pairs and "
    "Kahan every format of precision {precision} and more to within {cured}; stochastic sums have "
    "no bias; an f16 accumulator of positive products stalls too (at K = {k} it is at least "
    "{times} times as far off as with K in chunks), and an f32 one is off by what its blocks cut, "
    "in proportion to K.";

extern const Experiment swamping{
    "swamping",
    "Where does a sum in a short format stop growing, and what do chunks, pairs, Kahan's sum, "
    "stochastic rounding or a wide accumulator cure?",
    "Sums stall at 2048, 4096, 8192 and 1024, as published.",
    {swamping_said, swamping_figures},
    &run_swamping,
    false,
    {{}, swamping_quick}};

}  // namespace binade
