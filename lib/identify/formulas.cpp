// SPDX-License-Identifier: Apache-2.0
//
// Each row of the tables is computed in binary64 for some elements, and compared.
#include "lib/identify/formulas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include "emulate/project.h"
#include "lib/identify/run_scales.h"
#include "lib/number/spread_places.h"
#include "lib/number/ulp_distance.h"

namespace binade {
namespace {

/// What an element is by a formula, and how far rounding in binary32 may take it from that.
struct FormulaValue {
  double exact = 0, slack = 0;
};

struct Formula {
  std::string words;  ///< behind "as if"
  std::function<FormulaValue(std::size_t at)> value;
  /// Whether an element can tell the formula from simpler ones; empty: each can.
  std::function<bool(std::size_t at, double within)> tells = {};
  bool of_all = false;  ///< it is not told if one element does not agree
};

/// How well a formula fits.
struct FormulaFit {
  const Formula* formula = nullptr;
  std::size_t agree = 0;
  std::size_t telling = 0,
              telling_agree = 0;         ///< elements that neither ReLU nor nothing would give
  std::vector<std::uint64_t> ulps = {};  ///< from the exact value, of those that agree
};

struct PointFunction {
  const char* name;
  double (*of)(double);
  bool is_curved = true;  ///< else it is made of straight lines
};

double by_activation(Activation by, double x) {
  return rounded_activation(by, static_cast<float>(x));
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// Functions of one number.
constexpr std::array point_functions{
    PointFunction{"gelu", [](double x) { return by_activation(Activation::gelu, x); }},
    PointFunction{"gelu_tanh", [](double x) { return by_activation(Activation::gelu_tanh, x); }},
    PointFunction{"silu", [](double x) { return by_activation(Activation::silu, x); }},
    PointFunction{"x · sigmoid(1.702 x), the quick GELU,",
                  [](double x) { return x * sigmoid(1.702 * x); }},
    PointFunction{"a sigmoid", sigmoid},
    PointFunction{"tanh", [](double x) { return std::tanh(x); }},
    PointFunction{"exp", [](double x) { return std::exp(x); }},
    PointFunction{"softplus", softplus},
    PointFunction{"mish", [](double x) { return x * std::tanh(softplus(x)); }},
    PointFunction{"elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
    PointFunction{"hardswish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    PointFunction{"hardsigmoid", [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }, false},
    PointFunction{"a clamp of x / 5 + 1/2 to 0 and 1, Keras's hard_sigmoid,",
                  [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }, false},
    PointFunction{"a ReLU6, cut off at 6,", [](double x) { return std::clamp(x, 0.0, 6.0); },
                  false},
    PointFunction{"a clamp to -1 and 1", [](double x) { return std::clamp(x, -1.0, 1.0); }, false},
    PointFunction{"the square of a ReLU",
                  [](double x) { return std::max(x, 0.0) * std::max(x, 0.0); }},
    PointFunction{"the square", [](double x) { return x * x; }},
    PointFunction{"the magnitude", [](double x) { return std::abs(x); }, false},
    PointFunction{"the sign", [](double x) { return x > 0   ? 1.0
                                                    : x < 0 ? -1.0
                                                            : 0.0; }, false},
    PointFunction{"a step to 1 above 0", [](double x) { return x > 0 ? 1.0 : 0.0; }, false},
    PointFunction{"-x", [](double x) { return -x; }, false},
};
/// c of c · tanh(x / c).
constexpr std::array soft_caps{5, 10, 15, 20, 30, 50, 100};
constexpr std::array numbers_of_parts{2, 3, 4, 5, 6, 7, 8, 16};

/// The tables for one case.
class Formulas {
 public:
  Formulas(const KernelCase& x, const NearSums& sums, const std::vector<std::size_t>& tried)
      : x_(x), run_(x.run), sums_(sums), tried_(tried) {
    if (is_integer(x.types.d)) {
      saturated();
      return;
    }
    // The simplest first: of those that fit alike the first is told.
    constant();
    for (const bool rows : {true, false}) offsets(rows);
    for (const bool before : {false, true}) {
      if (before && !has_addends()) continue;
      for (const PointFunction& f : point_functions) add(f.name, f.of, before, f.is_curved);
      for (const double c : soft_caps) {
        add(
            fmt::format("{0} · tanh(x / {0})", c), [c](double y) { return c * std::tanh(y / c); },
            before, true);
      }
      leaky(before);
    }
    if (!is_integer(x.types.c)) {
      for (const int parts : numbers_of_parts) relu_of_parts(parts);
    }
    saturated();
    softmax();
  }

  std::vector<Formula> take() { return std::move(out_); }

 private:
  /// C and the bias, as they are added behind the products; not where scales follow.
  double addends_of(std::size_t at) const {
    double out = 0;
    if (!run_.c.empty()) out += x_.epilogue.beta * number_in(run_.c[at], x_.types.c);
    if (!run_.bias.empty()) out += number_in(run_.bias[run_.column(at)], x_.types.bias);
    return out;
  }
  bool has_addends() const {
    const bool has_scales = !run_.a_scale.empty() || !run_.b_scale.empty();
    return (!run_.c.empty() || !run_.bias.empty()) && !has_scales && !is_integer(x_.types.c);
  }
  std::string addends_words() const {
    return run_.c.empty()      ? "the bias is"
           : run_.bias.empty() ? run_.c_words + " is"
                               : run_.c_words + " and the bias are";
  }
  double slack_of(std::size_t at) const { return 0x1p-20 * sums_.size[at]; }

  /// Adds a function of the sum. Of a curved one, those elements tell that lie neither on its
  /// tangent at 0, as a factor or a constant would leave them, nor where it no longer changes.
  void add(const std::string& name, const std::function<double(double)>& of, bool before_addends,
           bool is_curved) {
    const auto argument = [this, before_addends](std::size_t at) {
      return sums_.exact[at] - (before_addends ? addends_of(at) : 0);
    };
    Formula out{fmt::format("{} were applied {}", name,
                            before_addends ? "to the products, before " + addends_words() + " added"
                                           : std::string("to the sum")),
                [this, of, argument](std::size_t at) {
                  const double x = argument(at), by = slack_of(at), y = of(x);
                  // A formula's steps change it by less than 2^-18 of the argument
                  // (lib/gemm/activated.h).
                  const double slack =
                      std::max(std::abs(of(x + by) - y), std::abs(of(x - by) - y)) +
                      0x1p-18 * std::max(std::abs(x), std::abs(y));
                  return FormulaValue{y + sums_.exact[at] - x, slack};
                }};
    if (is_curved) {
      out.tells = [of, argument](std::size_t at, double within) {
        const double x = argument(at), y = of(x), step = std::copysign(0x1p-12, x);
        const double tangent = of(0) + (of(step) - of(0)) / step * x;
        return std::abs(y - tangent) > 2 * within && std::abs(of(1.25 * x) - y) > 2 * within;
      };
    }
    out.of_all = !is_curved;
    out_.push_back(std::move(out));
  }

  /// One factor of all sums below 0, measured.
  void leaky(bool before_addends) {
    std::vector<double> ratios;
    for (const std::size_t at : tried_) {
      const double added = before_addends ? addends_of(at) : 0, x = sums_.exact[at] - added;
      if (x < -64 * slack_of(at)) ratios.push_back((sums_.found[at] - added) / x);
    }
    if (ratios.size() < 16) return;
    const double slope = median(std::move(ratios));
    if (!(slope > 0 && slope < 0.9)) return;
    add(
        fmt::format("a LeakyReLU (sums below 0 times about {:.4g})", slope),
        [slope](double x) { return x < 0 ? slope * x : x; }, before_addends, false);
  }

  /// Each of some parts of K cut off at 0 before they are added.
  void relu_of_parts(int parts) {
    const auto n = static_cast<std::size_t>(parts);
    if (n > run_.k) return;
    const std::size_t length = (run_.k + n - 1) / n;
    out_.push_back(
        {fmt::format("a ReLU were applied to each of {} parts of K, before they are added", parts),
         [this, length](std::size_t at) {
           double sum = 0;
           for (std::size_t first = 0; first < run_.k; first += length) {
             sum += std::max(0.0, of_part(at, first, length));
           }
           return FormulaValue{scaled(at, sum) + addends_of(at), slack_of(at)};
         }});
  }
  double of_part(std::size_t at, std::size_t first, std::size_t length) const {
    double sum = 0;
    for (std::size_t k = first; k < std::min(run_.k, first + length); ++k) sum += product(at, k);
    return sum;
  }
  double product(std::size_t at, std::size_t k) const {
    const std::size_t i = run_.row(at), j = run_.column(at);
    return run_factor(run_, false, i, k) * number_in(run_.a[i * run_.k + k], x_.types.a) *
           run_factor(run_, true, j, k) * number_in(run_.b[j * run_.k + k], x_.types.b);
  }
  double scaled(std::size_t at, double sum) const {
    sum *= x_.epilogue.alpha;
    if (!run_.a_scale.empty()) sum *= number_in(run_.a_scale[run_.row(at)], binary32);
    if (!run_.b_scale.empty()) sum *= number_in(run_.b_scale[run_.column(at)], binary32);
    return sum;
  }

  /// Sums of products of bytes in 16 bits that saturate: of pairs, as by vpmaddubsw, or all.
  void saturated() {
    if (!is_integer(x_.types.a) || !is_integer(x_.types.b)) return;
    const auto limited = [](double x) { return std::clamp(x, -0x1p15, 0x1p15 - 1); };
    const auto add_sum = [&](const char* words, auto sum) {
      out_.push_back({words, [this, sum](std::size_t at) {
                        const double c = run_.c.empty() || !is_integer(x_.types.c)
                                             ? 0
                                             : number_in(run_.c[at], x_.types.c);
                        const double after = is_integer(x_.types.c) ? 0 : addends_of(at);
                        return FormulaValue{scaled(at, sum(at) + c) + after, slack_of(at)};
                      }});
    };
    add_sum("sums of two products were saturated to 16 bits (vpmaddubsw)",
            [this, limited](std::size_t at) {
              double sum = 0;
              for (std::size_t k = 0; k < run_.k; k += 2) sum += limited(of_part(at, k, 2));
              return sum;
            });
    add_sum("the sum were saturated to 16 bits after each product",
            [this, limited](std::size_t at) {
              double sum = 0;
              for (std::size_t k = 0; k < run_.k; ++k) sum = limited(sum + product(at, k));
              return sum;
            });
    add_sum("the sum were saturated to 16 bits after every two products (vpmaddubsw, vpaddsw)",
            [this, limited](std::size_t at) {
              double sum = 0;
              for (std::size_t k = 0; k < run_.k; k += 2) {
                sum = limited(sum + limited(of_part(at, k, 2)));
              }
              return sum;
            });
  }

  void softmax() {
    if (run_.dots || run_.n < 2) return;
    out_.push_back({"a softmax were applied to each row",
                    [this](std::size_t at) {
                      const double* const row = sums_.exact.data() + run_.row(at) * run_.n;
                      const double most = *std::max_element(row, row + run_.n);
                      double sum = 0;
                      for (std::size_t j = 0; j < run_.n; ++j) sum += std::exp(row[j] - most);
                      const double p = std::exp(sums_.exact[at] - most) / sum;
                      return FormulaValue{p, p * (0x1p-16 + 4 * slack_of(at))};
                    },
                    [this](std::size_t at, double) {
                      // Not where one of a row is nearly all.
                      const double found = sums_.found[at];
                      return found > 0x1p-20 && found < 0.98;
                    }});
  }

  void constant() {
    std::vector<double> differences;
    for (const std::size_t at : tried_) differences.push_back(sums_.found[at] - sums_.exact[at]);
    const double by = median(std::move(differences));
    if (!std::isfinite(by)) return;
    out_.push_back(
        {fmt::format("about {:.6g} were added to each element", by), [this, by](std::size_t at) {
           return FormulaValue{sums_.exact[at] + by, slack_of(at) + 0x1p-20 * std::abs(by)};
         }});
  }

  /// An addend of each row, or column, that was not given.
  void offsets(bool rows) {
    const std::size_t lines = rows ? run_.m : run_.n, others = rows ? run_.n : run_.m;
    if (run_.dots || lines < 2 || others < 8) return;
    std::vector<double> by(lines);
    for (std::size_t line = 0; line < lines; ++line) {
      std::vector<double> differences;
      for (std::size_t other = 0; other < others; ++other) {
        const std::size_t at = rows ? line * run_.n + other : other * run_.n + line;
        differences.push_back(sums_.found[at] - sums_.exact[at]);
      }
      by[line] = median(std::move(differences));
      if (!std::isfinite(by[line])) return;
    }
    const char* const noun = rows ? "row" : "column";
    const char* const such = run_.bias.empty() ? ", such as a bias that was not given" : "";
    out_.push_back(
        {fmt::format("a number of its own were added to each {0}{1}: about {2:.6g} to {0} "
                     "0, {3:.6g} to {0} 1",
                     noun, such, by[0], by[1]),
         [this, rows, by](std::size_t at) {
           const double added = by[rows ? run_.row(at) : run_.column(at)];
           const double exact = sums_.exact[at] + added;
           return FormulaValue{
               exact, slack_of(at) + 0x1p-20 * std::abs(added) + ulp_at(exact, x_.types.d)};
         }});
  }

  const KernelCase& x_;
  const KernelRun& run_;
  const NearSums& sums_;
  const std::vector<std::size_t>& tried_;
  std::vector<Formula> out_;
};

/// Counts the elements that lie as near as the formula and D's format leave.
FormulaFit fit_by(const Formula& formula, const KernelCase& x, const NearSums& sums,
                  const std::vector<std::size_t>& elements) {
  FormulaFit out{&formula};
  const Format& f = x.types.d;
  const bool whole = is_integer(f);
  // What is wrong in most of some elements is not computed for all.
  constexpr std::size_t first = 64;
  std::size_t done = 0;
  for (const std::size_t at : elements) {
    if (++done > first && 2 * out.agree < first) break;
    const auto [exact, slack] = formula.value(at);
    const double plain = sums.exact[at], found = sums.found[at];
    const double within = whole ? 0 : 1.01 * ulp_at(exact, f) + slack;
    const bool agrees = std::abs(found - exact) <= within;
    const double apart = std::min(std::abs(exact - plain), std::abs(exact - std::max(plain, 0.0)));
    if (apart > 2 * within && (!formula.tells || formula.tells(at, within))) {
      ++out.telling;
      out.telling_agree += agrees ? 1U : 0U;
    }
    if (!agrees) continue;
    ++out.agree;
    if (whole) continue;
    const std::uint64_t code = convert(std::bit_cast<std::uint64_t>(exact), binary64, f).bits;
    out.ulps.push_back(ulp_distance(x.run.d[at], code, f).value_or(0));
  }
  return out;
}

}  // namespace

std::string formula_words(const KernelCase& given, const NearSums& sums) {
  constexpr std::size_t most_tried = 4096, least_telling = 16;
  const std::vector<std::size_t> tried = spread_places(given.run.size(), most_tried);
  if (tried.size() < least_telling) return "";
  Formulas table(given, sums, tried);
  const std::vector<Formula> formulas = table.take();
  FormulaFit best;
  for (const Formula& formula : formulas) {
    FormulaFit fit = fit_by(formula, given, sums, tried);
    const bool is_told = fit.telling >= least_telling && 50 * fit.telling_agree >= 49 * fit.telling;
    if (is_told && fit.agree > best.agree) best = std::move(fit);
  }
  if (50 * best.agree < 49 * tried.size()) return "";  // nothing was found, or too little
  const std::string head = fmt::format("as if {}: {} of {} elements that were tried ",
                                       best.formula->words, best.agree, tried.size());
  if (is_integer(given.types.d)) return head + "are equal";
  if (given.types.d.precision > binary32.precision) {
    return head + "lie within what steps in binary32 leave of that";
  }
  std::ranges::sort(best.ulps);
  return head + fmt::format(
                    "lie within rounding of that, half of these within {} ulp, nine of ten within "
                    "{}; which bits follow depends on its steps",
                    best.ulps[best.ulps.size() / 2], best.ulps[best.ulps.size() * 9 / 10]);
}

}  // namespace binade
