// SPDX-License-Identifier: Apache-2.0
//
// Question: which values break a reduction in binary16, and what do pairwise sums or a binary32
// accumulator save? Softmax, mean, variance, norm, mean squared error and division are computed in
// four versions: everything in binary16, with sums one value after another; the same with pairwise
// sums; in binary32 with a binary16 result (what autocast's fp32 list does); and in binary64.
//
// An operation is computed in binary64 and rounded to the version's format, which gives the same
// result as one rounding, since 53 >= 2·24 + 2 (Figueroa 1995). exp is correctly rounded to
// binary32 and then to the format, as in PyTorch for binary16. Thresholds are found by trying every
// positive binary16 number, lengths by trying every length.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "emulate/carrier.h"
#include "emulate/functions.h"
#include "experiments/draws.h"
#include "lib/parallel/parallel.h"
#include "lib/runs/experiment.h"

namespace binade {
namespace {

using Values = std::vector<double>;

double rounded(double x, const Format& f) {
  if (f == binary64) return x;
  return value_of<double>(convert(bits_of(x), binary64, f).bits, f);
}

/// How a reduction is computed.
struct Version {
  const char* name;
  Format inside;
  bool pairs;  ///< sums are pairwise, else one value after another
  Format result;

  double to(double x) const { return rounded(x, inside); }
  double exp(double x) const {
    if (inside == binary64) return std::exp(x);
    return to(static_cast<double>(rounded_exp(static_cast<float>(x))));
  }
};
constexpr std::array<Version, 4> versions{{
    {"binary16, in turn", binary16, false, binary16},
    {"binary16, in pairs", binary16, true, binary16},
    {"binary32 inside", binary32, false, binary16},
    {"binary64", binary64, true, binary64},
}};
constexpr const Version& exact_version = versions.back();

double in_pairs(std::span<const double> x, const Version& v) {
  if (x.size() == 1) return x[0];
  poll();
  const double left = in_pairs(x.first(x.size() / 2), v);
  return v.to(left + in_pairs(x.subspan(x.size() / 2), v));
}

double sum_of(const Values& x, const Version& v) {
  poll();
  if (v.pairs) return in_pairs(x, v);
  double sum = 0;
  for (const double value : x) sum = v.to(sum + value);
  return sum;
}

template <class Function>
Values each(const Values& x, const Function& function) {
  poll();
  Values out;
  out.reserve(x.size());
  for (const double value : x) out.push_back(function(value));
  return out;
}

double count_of(const Values& x, const Version& v) { return v.to(static_cast<double>(x.size())); }

double mean(const Values& x, const Version& v) { return v.to(sum_of(x, v) / count_of(x, v)); }

double variance(const Values& x, const Version& v) {
  const double centre = mean(x, v);
  const Values squares = each(x, [&](double value) {
    const double difference = v.to(value - centre);
    return v.to(difference * difference);
  });
  return mean(squares, v);
}

double norm(const Values& x, const Version& v) {
  const Values squares = each(x, [&](double value) { return v.to(value * value); });
  return v.to(std::sqrt(sum_of(squares, v)));
}

/// Returns the mean squared error of predictions whose errors are `errors`.
double squared_error(const Values& errors, const Version& v) {
  return mean(each(errors, [&](double e) { return v.to(e * e); }), v);
}

/// Returns the softmax of the first logit; the largest logit is subtracted before exp.
double softmax(const Values& logits, const Version& v) {
  double top = logits[0];
  for (const double x : logits) top = std::max(top, x);
  const Values e = each(logits, [&](double x) { return v.exp(v.to(x - top)); });
  return v.to(e[0] / sum_of(e, v));
}

/// Returns x[0] / (sum + ε) with ε = 1e-8.
double divide(const Values& x, const Version& v) {
  return v.to(x[0] / v.to(sum_of(x, v) + v.to(1e-8)));
}

struct HazardousReduction {
  const char* name;
  double (*compute)(const Values& x, const Version& v);
  double (*draw)(Draws& draws);  ///< draws one argument
  const char* arguments;
};
constexpr std::array<HazardousReduction, 6> reductions{{
    {"softmax", &softmax, [](Draws& d) { return d.normal(); }, "logits, normal"},
    {"mean", &mean, [](Draws& d) { return 1 + d.normal(); }, "normal, mean 1"},
    {"variance", &variance, [](Draws& d) { return 8 + d.normal(); }, "normal, mean 8"},
    {"norm", &norm, [](Draws& d) { return d.normal(); }, "normal"},
    {"squared error", &squared_error, [](Draws& d) { return 1e-4 * d.normal(); }, "errors of 1e-4"},
    {"divide", &divide, [](Draws& d) { return d.uniform(); }, "uniform in (0, 1)"},
}};

std::string figure(double x) {
  return std::isnan(x) ? "NaN" : std::isinf(x) ? "inf" : fmt::format("{:.6g}", x);
}

/// The first and the last positive binary16 number for which a condition holds.
struct HazardRun {
  double first = 0, last = 0;
  bool is_run = true;  ///< the condition also holds for all numbers between them
};

HazardRun run_of(const std::function<bool(double)>& holds) {
  HazardRun out;
  bool before = false;
  int beginnings = 0;
  for (std::uint64_t code = min_bits(binary16, false); code <= max_bits(binary16, false); ++code) {
    poll();
    const double x = value_of<double>(code, binary16);
    const bool now = holds(x);
    if (now && !before) {
      out.first = x;
      beginnings += 1;
    }
    if (now) {
      out.last = x;
    }
    before = now;
  }
  out.is_run = beginnings == 1;
  return out;
}

/// A boundary of binary16, with its value by algebra and as it was measured.
struct Threshold {
  const char* what;
  const char* on_paper;
  double expected;  ///< the binary16 number at the boundary
  double measured;
  bool is_run;
};

/// Return the largest binary16 number that is at most x, and the smallest that is at least x.
double at_most(double x) {
  return value_of<double>(
      convert(bits_of(x), binary64, binary16, {.rounding = Rounding::toward_negative}).bits,
      binary16);
}
double at_least(double x) {
  return value_of<double>(
      convert(bits_of(x), binary64, binary16, {.rounding = Rounding::toward_positive}).bits,
      binary16);
}

std::vector<Threshold> thresholds() {
  constexpr const Version& v = versions[0];
  constexpr const Version& pairs = versions[1];
  const auto equal_norm = [](std::size_t n) {
    return run_of([n](double x) { return std::isinf(norm(Values(n, x), pairs)); });
  };
  const HazardRun exp_inf = run_of([](double x) { return std::isinf(v.exp(x)); });
  const HazardRun exp_zero = run_of([](double x) { return v.exp(-x) == 0; });
  const HazardRun square_zero = run_of([](double x) { return squared_error({x}, v) == 0; });
  const HazardRun square_inf = run_of([](double x) { return std::isinf(squared_error({x}, v)); });
  const HazardRun variance_zero = run_of([](double x) { return variance({x, -x}, v) == 0; });
  const HazardRun inverse_inf = run_of([](double x) { return std::isinf(v.to(1 / x)); });
  const HazardRun norm_16 = equal_norm(16);
  const HazardRun norm_256 = equal_norm(256);
  const HazardRun unmoved = run_of([](double x) { return v.to(x + v.to(1e-6)) == x; });
  return {
      {"exp(x) is inf from x =", "ln 65520 = 11.0901", at_least(std::log(65520.0)), exp_inf.first,
       exp_inf.is_run},
      {"exp(-x) is 0 from x =", "25 ln 2 = 17.3287", at_least(25 * std::log(2.0)), exp_zero.first,
       exp_zero.is_run},
      {"an error's square is 0 up to |e| =", "2^-12.5 = 1.727e-4", at_most(std::exp2(-12.5)),
       square_zero.last, square_zero.is_run},
      {"an error's square is inf from |e| =", "sqrt(65520) = 255.97", at_least(std::sqrt(65520.0)),
       square_inf.first, square_inf.is_run},
      {"the variance of {x, -x} is 0 up to x =", "2^-12.5 = 1.727e-4", at_most(std::exp2(-12.5)),
       variance_zero.last, variance_zero.is_run},
      {"the norm of 16 equal values is inf from", "sqrt(65520/16) = 63.99",
       at_least(std::sqrt(65520.0 / 16)), norm_16.first, norm_16.is_run},
      {"the norm of 256 equal values is inf from", "sqrt(65520/256) = 15.998",
       at_least(std::sqrt(65520.0 / 256)), norm_256.first, norm_256.is_run},
      {"1/x is inf up to x =", "2^-16 = 1.526e-5", at_most(1 / 65520.0), inverse_inf.last,
       inverse_inf.is_run},
      {"x + 1e-6 is x from x =", "2^-8 = 0.00390625", std::exp2(-8), unmoved.first, unmoved.is_run},
  };
}

bool tell_thresholds(Outcome& out) {
  Table table{"Where binary16 breaks, by trying each of its 31,743 positive numbers",
              {"boundary", "on paper", "in binary16", "measured"},
              {}};
  bool as_said = true;
  for (const Threshold& row : thresholds()) {
    as_said = as_said && row.is_run && row.measured == row.expected;
    table.rows.push_back({row.what, row.on_paper, figure(row.expected), figure(row.measured)});
    out.data["thresholds"].push_back({{"boundary", row.what},
                                      {"on_paper", row.on_paper},
                                      {"expected", row.expected},
                                      {"measured", row.measured}});
  }
  out.tables.push_back(std::move(table));
  Table epsilon{
      "What an ε becomes in binary16, and a division by 0 + ε", {"ε", "binary16", "1/(0 + ε)"}, {}};
  for (const char* text : {"1e-5", "1e-6", "1e-7", "5e-8", "1e-8", "1e-12"}) {
    const double eps = rounded(std::stod(text), binary16);
    const double quotient = rounded(1 / eps, binary16);
    epsilon.rows.push_back({text, figure(eps), figure(quotient)});
    out.data["epsilon"].push_back({{"epsilon", text}, {"binary16", eps}});
    as_said = as_said && (eps == 0) == (std::stod(text) <= 0x1p-25);
  }
  out.tables.push_back(std::move(epsilon));
  return as_said;
}

/// The sums of n ones in binary16, for all n up to some length: one after another (in_turn), and
/// pairwise.
struct OnesSums {
  Values in_turn{0}, pairwise{0};
};
OnesSums sums_of_ones(std::size_t most) {
  OnesSums out;
  for (std::size_t n = 1; n <= most; ++n) {
    poll();
    out.in_turn.push_back(rounded(out.in_turn[n - 1] + 1, binary16));
    out.pairwise.push_back(
        n == 1 ? 1 : rounded(out.pairwise[n / 2] + out.pairwise[n - n / 2], binary16));
  }
  return out;
}

/// The smallest numbers n of ones for which their mean, which should be 1, is wrong.
struct Lengths {
  std::size_t wrong = 0;  ///< the mean is more than 1 % off
  std::size_t gone = 0;   ///< the mean is 0, infinite or NaN
};
Lengths lengths_of(const Values& sums) {
  Lengths out;
  for (std::size_t n = 1; n < sums.size(); ++n) {
    const double count = rounded(static_cast<double>(n), binary16);
    const double of_ones = rounded(sums[n] / count, binary16);
    const bool is_gone = !(of_ones > 0) || std::isinf(of_ones);
    if (out.wrong == 0 && (is_gone || std::abs(of_ones - 1) > 0.01)) out.wrong = n;
    if (out.gone == 0 && is_gone) out.gone = n;
  }
  return out;
}

bool tell_lengths(Outcome& out) {
  const OnesSums sums = sums_of_ones(70000);
  Table table{"The mean of N ones in binary16, N up to 70,000",
              {"sum", "70,000 ones", "mean off by 1 % from N =", "0, infinite or NaN from N ="},
              {}};
  const Lengths in_turn = lengths_of(sums.in_turn);
  const Lengths pairwise = lengths_of(sums.pairwise);
  table.rows.push_back({"in turn", figure(sums.in_turn.back()), std::to_string(in_turn.wrong),
                        std::to_string(in_turn.gone)});
  table.rows.push_back({"in pairs", figure(sums.pairwise.back()), std::to_string(pairwise.wrong),
                        std::to_string(pairwise.gone)});
  out.tables.push_back(std::move(table));
  out.data["ones"] = {{"in_turn", {{"wrong", in_turn.wrong}, {"gone", in_turn.gone}}},
                      {"in_pairs", {{"wrong", pairwise.wrong}, {"gone", pairwise.gone}}}};
  // Added one after another, the sum stays 2048, so that the mean 2048/N is 1 % off from about N =
  // 2048·1.01, and 0 from the first N that binary16 rounds to infinity. Added pairwise, the sum
  // overflows at the first N beyond the largest finite number.
  return sums.in_turn.back() == 2048 && in_turn.wrong > 2048 && in_turn.wrong < 2080 &&
         in_turn.gone == 65520 && pairwise.wrong == 65505 && pairwise.gone == 65505;
}

double relative_error(double got, double exact) { return std::abs(got - exact) / std::abs(exact); }

/// Computes the reductions of 2^4 to 2^18 binary16 arguments. Returns whether the version with
/// binary32 inside has a relative error below 2^-10, an ulp of binary16, wherever the exact result
/// is a normal binary16 number, and whether the version in binary16 with sums one after another is
/// far off for the largest number of arguments.
bool tell_errors(const ExperimentInput& input, Outcome& out) {
  const std::size_t most = std::size_t{1} << (input.quick ? 14 : 18);
  bool as_said = true;
  Table table{fmt::format("Relative error of N = {} arguments", most),
              {"reduction", "arguments", "exact"},
              {}};
  for (const Version& v : std::span(versions).first(3)) table.columns.emplace_back(v.name);
  for (std::size_t r = 0; r < reductions.size(); ++r) {
    const HazardousReduction& row = reductions[r];
    if (input.progress) input.progress(static_cast<double>(r) / reductions.size(), row.name);
    Draws draws(1910, r);
    Values all;
    for (std::size_t i = 0; i < most; ++i) {
      poll();
      all.push_back(rounded(row.draw(draws), binary16));
    }
    Plot plot{std::string(row.name) + " of " + row.arguments,
              "N",
              "relative error",
              Axis::log2,
              Axis::log10,
              {},
              "A gap is an infinity, a NaN or no error. Exact: binary64."};
    for (const Version& v : std::span(versions).first(3)) plot.series.push_back({v.name, {}, {}});
    std::vector<std::string> cells;
    for (std::size_t n = 16; n <= most; n *= 4) {
      const Values x(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
      const double exact = row.compute(x, exact_version);
      cells = {row.name, row.arguments, figure(exact)};
      for (std::size_t at = 0; at < 3; ++at) {
        const double got = rounded(row.compute(x, versions[at]), versions[at].result);
        const double error = relative_error(got, exact);
        const bool is_zero = got == 0 && exact != 0;
        cells.push_back(is_zero              ? "0"
                        : std::isfinite(got) ? fmt::format("{:.1e}", error)
                                             : figure(got));
        plot.series[at].x.push_back(static_cast<double>(n));
        plot.series[at].y.push_back(error > 0 ? error : std::numeric_limits<double>::quiet_NaN());
        const bool is_normal = std::abs(exact) >= 0x1p-14;
        if (at == 2 && is_normal) as_said = as_said && error < 0x1p-10;
        if (at == 0 && n == most) as_said = as_said && !(error < (input.quick ? 0.1 : 0.5));
        nlohmann::ordered_json cell{{"reduction", row.name},
                                    {"version", versions[at].name},
                                    {"n", n},
                                    {"exact", exact},
                                    {"result", figure(got)}};
        out.data["errors"].push_back(std::move(cell));
      }
    }
    table.rows.push_back(cells);
    out.plots.push_back(std::move(plot));
  }
  out.tables.push_back(std::move(table));
  return as_said;
}

Outcome run_reduction_hazards(const ExperimentInput& input) {
  Outcome out;
  const bool boundaries = tell_thresholds(out);
  const bool lengths = tell_lengths(out);
  const bool errors = tell_errors(input, out);
  const auto boundary = [&out](std::size_t i) {
    return out.data["thresholds"][i]["measured"].get<double>();
  };
  const auto& eps = *std::ranges::find(out.data["epsilon"], "1e-8",
                                       [](const auto& row) { return row["epsilon"]; });
  const auto& ones = out.data["ones"];
  out.measured = {{"exp", boundary(0)},
                  {"square", boundary(2)},
                  {"epsilon", std::stod(eps["epsilon"].get<std::string>())},
                  {"becomes", eps["binary16"].get<double>()},
                  {"wrong", ones["in_turn"]["wrong"].get<double>()},
                  {"gone", ones["in_pairs"]["gone"].get<double>()}};
  out.as_expected = boundaries && lengths && errors;
  out.verdict = fmt::format(
      "every boundary is {}; sums of ones {} at 2048 in turn, and in pairs their mean is no number "
      "from N = 65505 on; binary32 inside {} every result that binary16 can hold.",
      boundaries ? "where the algebra puts it" : "NOT where the algebra puts it",
      lengths ? "stall" : "do NOT stall", errors ? "keeps" : "does NOT keep");
  return out;
}

constexpr std::array<ExpectedFigure, 6> reduction_hazards_figures{{
    {"exp", "exp overflows from", "11.094", 11.0935, 11.0945},
    {"square", "errors whose square is 0, up to", "1.73e-4", 1.725e-4, 1.735e-4},
    {"epsilon", "an epsilon", "1e-8", 1e-8, 1e-8, true},
    {"becomes", "that epsilon in binary16", "0", 0, 0},
    {"wrong", "N from which a mean of ones in turn is off by a hundredth", "2070", 2049, 2080},
    {"gone", "N from which a mean of ones in pairs is infinite or NaN", "65 505", 65505, 65505},
}};

}  // namespace

extern const Experiment reduction_hazards{
    "reduction_hazards",
    "Which values break softmax, mean, variance, norm, squared error and division in binary16, "
    "and what do pairwise sums or binary32 inside save?",
    "In FP16 exp overflows from 11.09 on, squares vanish below 1.7e-4, and ε = 1e-8 is 0.",
    {"exp overflows from {exp} on, the first binary16 number above the logarithm of the overflow "
     "threshold; squares of errors up to {square} are zero, an ε of {epsilon} is {becomes}; the "
     "mean of N ones is wrong from about N = {wrong} on if they are added in turn, and from N = "
     "{gone} on it is no number even if they are added in pairs; binary32 inside with a binary16 "
     "result is right wherever the result is a "
     "normal number.",
     reduction_hazards_figures},
    &run_reduction_hazards};

}  // namespace binade
