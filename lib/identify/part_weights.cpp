// SPDX-License-Identifier: Apache-2.0
//
// Least squares for the weights of parts of K, and for the factors of sums and of C.
#include "lib/identify/part_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "emulate/gemm.h"
#include "lib/identify/change_fit.h"
#include "lib/identify/cores.h"
#include "lib/identify/run_scales.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_weights = 96;  // parts of K whose weights are measured

/// A factor as people write it.
struct NamedFactor {
  std::string words;
  double value = 1;
};

/// What stacks multiply or divide by: the largest numbers of formats, and their products.
constexpr std::pair<const char*, double> stack_factors[]{
    {"240", 240.0},         {"1/240", 1 / 240.0},   {"448", 448.0},     {"1/448", 1 / 448.0},
    {"28/15", 448 / 240.0}, {"15/28", 240 / 448.0}, {"1536", 1536.0},   {"1/1536", 1 / 1536.0},
    {"2688", 2688.0},       {"1/2688", 1 / 2688.0}, {"57344", 57344.0}, {"1/57344", 1 / 57344.0}};

/// Returns the factors within `error` of x that people choose: a power of two, or else a whole
/// number or its inverse or a root of these, and a short decimal number; if there are none, x.
std::vector<NamedFactor> factors_near(double x, double error) {
  const double size = std::abs(x);
  const std::string sign = x < 0 ? "-" : "";
  std::vector<NamedFactor> out;
  const auto fits = [&](double wanted) { return std::abs(size / wanted - 1) <= error; };
  const auto add = [&](const std::string& words, double wanted) {
    out.push_back({sign + words, std::copysign(wanted, x)});
  };
  const auto add_new = [&](const std::string& words, double wanted) {
    if (std::ranges::find(out, sign + words, &NamedFactor::words) == out.end()) add(words, wanted);
  };
  const int e = static_cast<int>(std::lround(std::log2(size)));
  if (const double power = std::ldexp(1.0, e); fits(power)) {
    add(e >= 0 && e < 10 ? fmt::format("{}", 1 << e) : fmt::format("2^{}", e), power);
    return out;
  }
  // Where such factors lie close together, one fits by chance.
  for (int d = 2; d <= 1024 && 8 * d * error < 1 && out.empty(); ++d) {
    const double root = std::sqrt(d);
    if (fits(d))
      add(fmt::format("{}", d), d);
    else if (fits(1.0 / d))
      add(fmt::format("1/{}", d), 1.0 / d);
    else if (fits(1 / root))
      add(fmt::format("1/√{}", d), 1 / root);
    else if (fits(root))
      add(fmt::format("√{}", d), root);
  }
  for (int digits = 1; digits <= 6 && std::pow(10.0, digits) * error < 0.25; ++digits) {
    const std::string text = fmt::format("{:.{}g}", size, digits);
    if (!fits(std::stod(text))) continue;
    if (out.empty() || out[0].words != sign + text) add(text, std::stod(text));
    break;
  }
  for (int q = 2; q <= 32 && out.empty(); ++q) {
    const int p = static_cast<int>(std::lround(size * q));
    if (std::gcd(p, q) != 1 || 8.0 * p * q * error >= 1 || !fits(static_cast<double>(p) / q))
      continue;
    add(fmt::format("{}/{}", p, q), static_cast<double>(p) / q);
  }
  for (const auto& [text, constant] : stack_factors) {
    if (100 * error < 1 && fits(constant)) add_new(text, constant);
  }
  if (out.empty()) out.push_back({fmt::format("about {:.9g}", x), x});
  // The shortest decimal number may be meant, though others lie as near: bits decide.
  for (int digits = 1; digits <= 4; ++digits) {
    const std::string text = fmt::format("{:.{}g}", size, digits);
    if (!fits(std::stod(text))) continue;
    add_new(text, std::stod(text));
    break;
  }
  return out;
}

/// Weights of the parts of K by which D is their sum.
class Weights {
 public:
  Weights(const KernelCase& given, const KernelCase& measured)
      : given_(given),
        part_(sample_of(measured, {})),
        is_of_some_(measured.run.size() < given.run.size()) {}

  std::vector<Change> changes() {
    const KernelRun& run = part_.run;
    sums_ = near_sums(part_);
    addends();
    const std::size_t most = std::min(most_weights, run.size() / 4);
    if (most == 0) return {};
    std::size_t step = 1;
    while ((run.k + step - 1) / step > most) step *= 2;
    std::vector<Change> out;
    for (Change& change : scaled()) out.push_back(std::move(change));
    const std::size_t runs = run.runs.count(run.k);
    if (run.runs.any() && runs > 1 && runs <= most) {
      for (Change& change : scaled_runs()) out.push_back(std::move(change));
    }
    if (step < run.k) {
      for (Change& change : weighted(step)) out.push_back(std::move(change));
    }
    return out;
  }

  std::optional<GroupFactors> groups() {
    const KernelRun& run = part_.run;
    sums_ = near_sums(part_);
    addends();
    const double most_error = std::max(0x1p-12, std::ldexp(2.0, -part_.types.d.precision));
    for (std::size_t length = 1024; length >= 8; length /= 2) {
      const std::size_t n = (run.k + length - 1) / length;
      if (n < 2 || n > std::min(most_weights, run.size() / 4)) continue;
      const Measured x = measured(length);
      if (x.weights.empty()) continue;
      const double error = std::sqrt(x.left / x.size);
      if (error > most_error) continue;
      return chosen(x.weights, length, 0x1p-22 + 4 * error);
    }
    return std::nullopt;
  }

 private:
  /// The factors that weights mean, whose relative errors are so large.
  std::optional<GroupFactors> chosen(const std::vector<double>& weights, std::size_t length,
                                     double error) const {
    constexpr std::size_t most_named = 4;
    GroupFactors out{length, {}, ""};
    const double unlike = 0.01 + error;
    const auto [low, high] = std::ranges::minmax(weights);
    const bool whole = std::ranges::all_of(
        weights, [&](double x) { return std::abs(x - std::round(x)) <= unlike; });
    if (high - low <= unlike || whole) return std::nullopt;
    std::size_t told = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const NamedFactor factor =
          std::abs(weights[i]) <= error ? NamedFactor{"0", 0} : factors_near(weights[i], error)[0];
      out.factors.push_back(factor.value);
      if (factor.value == 1 || told > most_named) continue;
      const std::size_t first = i * length, end = std::min(given_.run.k, first + length);
      out.words += told++ == most_named
                       ? ", …"
                       : fmt::format("{}k {}..{} by {}", out.words.empty() ? "" : ", ", first,
                                     end - 1, factor.words);
    }
    return out;
  }

  /// The part of D that is not the sum: C and the bias.
  void addends() {
    const KernelRun& run = part_.run;
    rest_.assign(run.size(), 0);
    for (std::size_t at = 0; at < run.size(); ++at) {
      double x = 0;
      if (!run.c.empty()) x += given_.epilogue.beta * number_in(run.c[at], part_.types.c);
      if (!run.bias.empty()) x += number_in(run.bias[run.column(at)], part_.types.bias);
      rest_[at] = x;
    }
  }
  /// Whether an element tells of weights: not if it holds 0, which elements without a sum do.
  bool is_used(std::size_t at) const {
    return std::isfinite(sums_.found[at]) && std::isfinite(sums_.size[at]) && sums_.size[at] > 0 &&
           sums_.found[at] != 0;
  }

  /// The scales of an element's row and column, or of the tensors.
  double scale_of(std::size_t at) const {
    const KernelRun& run = part_.run;
    double out = 1;
    if (!run.a_scale.empty()) out *= number_in(run.a_scale[run.row(at)], binary32);
    if (!run.b_scale.empty()) out *= number_in(run.b_scale[run.column(at)], binary32);
    return out;
  }

  /// C, or without C the bias, as it is added to an element.
  double addend(std::size_t at) const {
    const KernelRun& run = part_.run;
    if (is_of_bias()) return number_in(run.bias[run.column(at)], part_.types.bias);
    return run.c.empty() ? 0.0 : given_.epilogue.beta * number_in(run.c[at], part_.types.c);
  }
  bool is_of_bias() const { return part_.run.c.empty() && !part_.run.bias.empty(); }

  /// Factors of the sums and of C, or of the bias, and the squares of what they leave.
  struct Factors {
    std::vector<double> of;  ///< of the sums; if there is C or a bias, of that
    double left = 0, size = 0, of_sums = 0, of_c = 0;
    std::size_t used = 0;
  };

  /// The factors by which these products and C give D; without any, `of` is empty.
  Factors factors_of(const std::vector<double>& products) const {
    const bool with_c = !part_.run.c.empty() || is_of_bias();
    std::vector<double> matrix(4), right(2);
    std::vector<std::array<double, 3>> rows;  // product, C, D without the bias
    Factors out;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      if (!is_used(at) || !std::isfinite(products[at])) continue;
      // Where terms cancel, errors of rounding are large beside the sum.
      if (!with_c && std::abs(products[at]) < sums_.size[at] / 64) continue;
      // Errors grow with the sum of magnitudes.
      const double by = 1 / std::max(sums_.size[at], std::numeric_limits<double>::min());
      const double c = by * addend(at), product = by * products[at];
      const double wanted = by * (sums_.found[at] - rest_[at]) + c;
      matrix[0] += product * product;
      matrix[2] += c * product;
      matrix[3] += c * c;
      right[0] += product * wanted;
      right[1] += c * wanted;
      out.size += wanted * wanted;
      rows.push_back({product, c, wanted});
    }
    out.used = rows.size();
    out.of_sums = matrix[0];
    out.of_c = matrix[3];
    if (rows.size() < 4 || matrix[0] == 0) return {};
    if (!with_c) {
      matrix.resize(1);
      right.resize(1);
    }
    out.of = least_squares(matrix, right);
    if (out.of.empty()) return {};
    for (const auto& [product, c, wanted] : rows) {
      const double error = wanted - out.of[0] * product - (with_c ? out.of[1] : 0) * c;
      out.left += error * error;
    }
    return out;
  }

  /// The sums of the cores that cut off so much that a factor beside the exact sums would be off,
  /// as FP8's do; also with every fourth one added to a register of binary32, as kernels do there.
  std::vector<std::vector<double>> narrow_products() const {
    constexpr int promoted = 4;
    std::vector<std::vector<double>> out;
    if (part_.run.runs.any()) return out;
    for (const Core& core : cores_for(part_.types)) {
      const DotModel& model = core.plain.model;
      if (!is_fused(model) || model.fraction_bits >= binary32.fraction_bits()) continue;
      if (core.plain.types.d != binary32) continue;
      for (const int every : {0, promoted}) {
        GemmModel g = core.plain;
        g.sum.promote_every = every;
        out.push_back(products_by(g));
      }
    }
    return out;
  }

  std::vector<double> products_by(const GemmModel& g) const {
    const KernelRun& run = part_.run;
    std::vector<double> out(run.size());
    parallel_for(run.size(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t at = begin; at < end; ++at) {
        const GemmElement<std::uint64_t> x = run.element(at);
        const Typed sum = element_sum(g, GemmElement<std::uint64_t>{x.a, x.b, x.k});
        out[at] = given_.epilogue.alpha * scale_of(at) * number_in(sum.bits, sum.format);
      }
    });
    return out;
  }

  /// One factor for all sums, and one for C or, without C, for the bias.
  std::vector<Change> scaled() const {
    const bool of_bias = is_of_bias();
    const bool with_c = !part_.run.c.empty() || of_bias;
    std::vector<double> exact(rest_.size());
    for (std::size_t at = 0; at < rest_.size(); ++at) exact[at] = sums_.exact[at] - rest_[at];
    Factors found = factors_of(exact);
    // Where the exact sums are far from any factor, so are those that were cut off.
    const auto spread = [&] { return std::sqrt(found.left / std::max(found.size, 1e-300)); };
    if (found.of.empty() || !(spread() < 1.0 / 64)) return {};
    for (const std::vector<double>& products : narrow_products()) {
      Factors other = factors_of(products);
      if (!other.of.empty() && other.left < found.left) found = std::move(other);
    }
    const std::vector<double>& factors = found.of;
    // Tensor Cores cut sums toward zero, which makes them smaller by some 2^-24.
    const double of_one = std::sqrt(found.left / static_cast<double>(found.used));
    const auto factors_of_one = [&](double factor, double squares) {
      // Of a few elements that are an ulp off no factor is known.
      const double least = is_of_some_ ? std::ldexp(4.0, -part_.types.d.precision) : 0x1p-20;
      const double spread_error = 8 * of_one / std::sqrt(std::max(squares, 1e-300));
      const double error = least + spread_error;
      if (std::abs(factor - 1) <= error) return std::vector<NamedFactor>{{"", 1}};
      if (std::abs(factor) <= error) return std::vector<NamedFactor>{{"left out", 0}};
      std::vector<NamedFactor> out =
          factors_near(factor, 0x1p-20 + spread_error / std::abs(factor));
      // Sums of FP8 that are promoted are cut at 13 bits, and mostly toward zero.
      if (part_.run.runs.any() && part_.types.a.bits() <= 8) {
        for (NamedFactor& one : factors_near(factor, 0x1p-13 + spread_error / std::abs(factor))) {
          const bool is_known = std::ranges::find(out, one.words, &NamedFactor::words) != out.end();
          if (!is_known && !one.words.starts_with("about")) out.push_back(std::move(one));
        }
      }
      for (NamedFactor& one : out) one.words = "scaled by " + one.words;
      return out;
    };
    const NamedFactor of_addend =
        with_c ? factors_of_one(factors[1], found.of_c)[0] : NamedFactor{"", 1};
    std::vector<Change> out;
    for (const NamedFactor& of_sum : factors_of_one(factors[0], found.of_sums)) {
      Change change;
      if (of_sum.value != 1 && of_sum.value != 0 && !given_.run.a_scale.empty()) {
        change.a_scale = [&all = given_.run.a_scale,
                          by = static_cast<float>(of_sum.value)](std::size_t line) {
          const double scale = std::bit_cast<float>(static_cast<std::uint32_t>(all[line]));
          return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(scale * by))};
        };
      } else {
        change.alpha = of_sum.value;
      }
      change.beta = of_addend.value;
      if (!of_sum.words.empty()) change.words = "the sum " + of_sum.words;
      if (!of_addend.words.empty()) {
        change.words += fmt::format("{}{} {}", change.words.empty() ? "" : ", ",
                                    of_bias ? "the bias" : part_.run.c_words, of_addend.words);
      }
      if (change.words.empty()) continue;
      if (of_bias && change.beta != 1) {  // an epilogue has no factor of the bias, but one of C
        change.without_bias = true;
        change.c = [&bias = given_.run.bias, n = given_.run.n](std::size_t at) {
          return bias[at % n];
        };
        change.as_c = given_.types.bias;
        change.beta /= given_.epilogue.beta;
      }
      out.push_back(std::move(change));
      // A factor of scales of blocks is rounded with these.
      if (of_addend.value != 1 || !given_.run.a_scale.empty() || of_sum.value == 0) continue;
      for (const bool of_a : {true, false}) {
        const std::vector<double> alike(given_.run.runs.count(given_.run.k), of_sum.value);
        if ((of_a ? given_.run.runs.a : given_.run.runs.b).empty()) continue;
        out.push_back(
            runs_scaled(of_a, alike,
                        fmt::format("{} scales of blocks {}", of_a ? "A's" : "B's", of_sum.words)));
      }
    }
    return out;
  }

  /// The scales of A or of B times a factor for each run of K.
  Change runs_scaled(bool of_a, const std::vector<double>& factors, std::string words) const {
    Change out{.words = std::move(words)};
    (of_a ? out.a_runs : out.b_runs) = [&all = of_a ? given_.run.runs.a : given_.run.runs.b,
                                        factors](std::size_t line, std::size_t run) {
      const double scale = std::bit_cast<float>(all[line * factors.size() + run]);
      const auto by = static_cast<float>(factors[run]);  // as kernels have it
      return std::bit_cast<std::uint32_t>(static_cast<float>(scale * by));
    };
    return out;
  }

  /// Scales of runs of K that are off by a factor, which those of A or of B then have.
  std::vector<Change> scaled_runs() const {
    const std::size_t length = part_.run.runs.length, runs = part_.run.runs.count(part_.run.k);
    const Measured x = measured(length);
    if (x.weights.empty() || x.left > x.before / 4 || x.left > x.size / 64) return {};
    const double error =
        0x1p-16 + 8 * std::sqrt(x.left / x.size) * std::sqrt(static_cast<double>(runs));
    const double of_mean = 0x1p-16 + error / std::sqrt(static_cast<double>(rest_.size()));
    std::vector<Change> out;
    // Sums that are cut are smaller, by which a weight may be off more than their mean is.
    for (const double of_name : {error, of_mean}) {
      std::optional<Change> change = scaled_by(x.weights, error, of_name);
      if (change && (out.empty() || out[0].words != change->words)) out.push_back(*change);
    }
    return out;
  }

  /// Runs whose weights are further from 1 than `error`, by factors within `of_name` of them.
  std::optional<Change> scaled_by(const std::vector<double>& weights, double error,
                                  double of_name) const {
    constexpr std::size_t most_scaled = 4;
    const std::size_t length = part_.run.runs.length, runs = weights.size();
    std::vector<double> factors;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < runs; ++i) {
      const double weight = weights[i];
      factors.push_back(1);
      if (std::abs(weight - 1) <= error) continue;
      if (!(std::abs(weight) > error)) return std::nullopt;  // it is left out
      const NamedFactor factor = factors_near(weight, of_name / std::abs(weight))[0];
      factors.back() = factor.value;
      words.push_back(fmt::format("those of k {}..{} scaled by {}", i * length,
                                  std::min((i + 1) * length, part_.run.k) - 1, factor.words));
    }
    // One factor of all of them is the sum's.
    const bool is_one = std::ranges::all_of(factors, [&](double f) { return f == factors[0]; });
    if (words.empty() || words.size() > most_scaled || is_one) return std::nullopt;
    return runs_scaled(!given_.run.runs.a.empty(), factors,
                       fmt::format("scales of blocks: {}", fmt::join(words, ", ")));
  }

  /// Weights of runs of K, and squares: of what they leave, of the errors without them, of D.
  struct Measured {
    std::vector<double> weights;
    double left = 0, before = 0, size = 0;
  };

  Measured measured(std::size_t step) const {
    const KernelRun& run = part_.run;
    const std::size_t n = (run.k + step - 1) / step;
    const std::vector<double> a = scaled_numbers(part_, false), b = scaled_numbers(part_, true);
    std::vector<double> matrix(n * n), right(n), row(n);
    double before = 0, size = 0;
    std::vector<std::vector<double>> rows;
    std::vector<double> results;
    for (std::size_t at = 0; at < run.size(); ++at) {
      if (!is_used(at)) continue;
      const double* x = a.data() + run.row(at) * run.k;
      const double* y = b.data() + run.column(at) * run.k;
      std::ranges::fill(row, 0);
      // Errors grow with the sum of magnitudes.
      const double by = 1 / std::max(sums_.size[at], std::numeric_limits<double>::min());
      const double factor = given_.epilogue.alpha * scale_of(at) * by;
      for (std::size_t k = 0; k < run.k; ++k) row[k / step] += x[k] * y[k] * factor;
      const double wanted = (sums_.found[at] - rest_[at]) * by;
      for (std::size_t i = 0; i < n; ++i) {
        right[i] += row[i] * wanted;
        for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] += row[i] * row[j];
      }
      const double error = (sums_.found[at] - sums_.exact[at]) * by;
      before += error * error;
      size += wanted * wanted;
      rows.push_back(row);
      results.push_back(wanted);
    }
    std::vector<double> weights = least_squares(matrix, right);
    if (weights.empty() || size == 0) return {};
    double left = 0;
    for (std::size_t at = 0; at < rows.size(); ++at) {
      double x = results[at];
      for (std::size_t i = 0; i < n; ++i) x -= weights[i] * rows[at][i];
      left += x * x;
    }
    return {std::move(weights), left, before, size};
  }

  std::vector<Change> weighted(std::size_t step) const {
    const Measured x = measured(step);
    if (x.weights.empty() || x.left > x.before / 4 || x.left > x.size / 64) return {};
    return parted(x.weights, step);
  }

  /// The changes that whole weights mean; a part of no whole weight ends at some k inside of it.
  std::vector<Change> parted(const std::vector<double>& weights, std::size_t step) const {
    const std::size_t k = given_.run.k;
    Change out;
    std::vector<std::string> words;
    bool some = false;
    std::vector<std::size_t> twice;
    for (std::size_t i = 0; i < weights.size();) {
      const auto weight = static_cast<int>(std::lround(weights[i]));
      if (!(std::abs(weights[i] - weight) <= 0.1) || weight < 0 || weight > 2) return {};
      std::size_t end = i;
      while (end < weights.size() && std::lround(weights[end]) == weight &&
             std::abs(weights[end] - weight) <= 0.1) {
        ++end;
      }
      const std::size_t first = i * step, last = std::min(k, end * step);
      for (std::size_t at = first; at < last && weight > 0; ++at) out.places.push_back(at);
      for (std::size_t at = first; at < last && weight > 1; ++at) twice.push_back(at);
      if (weight != 1) {
        some = true;
        const std::string places = last - first == 1 ? fmt::format("k {}", first)
                                                     : fmt::format("k {}..{}", first, last - 1);
        words.push_back(places + (weight == 0 ? " left out" : " counted twice"));
      }
      i = end;
    }
    // One weight of all of K is a factor of the sum.
    const bool is_one = std::ranges::all_of(
        weights, [&](double x) { return std::lround(x) == std::lround(weights[0]); });
    if (!some || is_one || out.places.empty()) return {};
    if (words.size() > 4) words = {periodic_words(weights, step)};
    if (words[0].empty()) return {};
    out.words = "of K, " + fmt::format("{}", fmt::join(words, ", "));
    return in_orders(std::move(out), twice);
  }

  /// A change of places with those that are counted twice: at the end, each run of K behind itself,
  /// or in the place of what is left out.
  std::vector<Change> in_orders(Change once, const std::vector<std::size_t>& twice) const {
    const KernelRun& run = given_.run;
    std::vector<Change> out{once};
    out[0].places.insert(out[0].places.end(), twice.begin(), twice.end());
    const std::size_t length = run.runs.any() ? run.runs.length : run.k;
    if (run.runs.any() && twice.empty() && !keeps_runs(once, length)) {
      // Runs keep their scales where products with zeros stand in the place of what is left out.
      std::vector<bool> is_kept(run.k);
      for (const std::size_t k : once.places) is_kept[k] = true;
      once.places.clear();
      once.a = [&run, is_kept, zero = zero_bits(given_.types.a, false)](std::size_t i,
                                                                        std::size_t k) {
        return is_kept[k] ? run.a[i * run.k + k] : zero;
      };
      return {std::move(once)};
    }
    if (!run.runs.any() || twice.empty()) return out;
    std::vector<std::size_t> behind, instead;
    std::size_t next = 0;
    for (std::size_t first = 0; first < run.k; first += length) {
      const std::size_t end = std::min(first + length, run.k);
      const auto has = [&](const std::vector<std::size_t>& all, std::size_t k) {
        return std::ranges::find(all, k) != all.end();
      };
      const auto add = [&](std::vector<std::size_t>& to, std::size_t from, std::size_t until) {
        for (std::size_t k = from; k < until; ++k) to.push_back(k);
      };
      if (has(once.places, first)) {
        add(behind, first, end);
        add(instead, first, end);
      } else if (next + length <= twice.size()) {
        add(instead, twice[next], twice[next] + length);
        next += length;
      }
      if (has(twice, first)) add(behind, first, end);
    }
    for (std::vector<std::size_t>* places : {&behind, &instead}) {
      if (places->size() != out[0].places.size()) continue;
      out.push_back(once);
      out.back().places = std::move(*places);
    }
    return out;
  }

  /// "of every 4 k the second and the third left out"; empty if the weights have no short period.
  static std::string periodic_words(const std::vector<double>& weights, std::size_t step) {
    for (std::size_t period = 2; 2 * period <= weights.size(); ++period) {
      bool same = true;
      for (std::size_t i = period; i < weights.size() && same; ++i) {
        same = std::lround(weights[i]) == std::lround(weights[i - period]);
      }
      if (!same) continue;
      std::vector<std::string> words;
      for (std::size_t i = 0; i < period; ++i) {
        const auto weight = std::lround(weights[i]);
        if (weight == 1) continue;
        const std::string places =
            step == 1 ? fmt::format("{}", i) : fmt::format("{}..{}", i * step, (i + 1) * step - 1);
        words.push_back(fmt::format("{} {}", places, weight == 0 ? "left out" : "counted twice"));
      }
      if (words.size() > 8) return "";
      return fmt::format("in each run of {}, {}", period * step, fmt::join(words, ", "));
    }
    return "";
  }

  const KernelCase& given_;
  KernelCase part_;
  bool is_of_some_;  ///< some elements of the case are measured, which may be few
  NearSums sums_;
  std::vector<double> rest_;
};

}  // namespace

std::vector<double> least_squares(std::vector<double> matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double diagonal = matrix[i * n + i];
    for (std::size_t k = 0; k < i; ++k) matrix[i * n + i] -= matrix[i * n + k] * matrix[i * n + k];
    if (!(matrix[i * n + i] > 1e-10 * diagonal)) return {};
    const double root = std::sqrt(matrix[i * n + i]);
    matrix[i * n + i] = root;
    for (std::size_t j = i + 1; j < n; ++j) {
      double x = matrix[j * n + i];
      for (std::size_t k = 0; k < i; ++k) x -= matrix[j * n + k] * matrix[i * n + k];
      matrix[j * n + i] = x / root;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i * n + k] * right[k];
    right[i] /= matrix[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= matrix[k * n + i] * right[k];
    right[i] /= matrix[i * n + i];
  }
  const bool are_numbers = std::ranges::all_of(right, [](double x) { return std::isfinite(x); });
  return are_numbers ? right : std::vector<double>{};
}

std::optional<GroupFactors> group_factors(const KernelCase& given) {
  if (!given.run.c.empty() || !given.run.bias.empty() || given.epilogue.alpha != 1) return {};
  return Weights(given, given).groups();
}

std::vector<Change> weighed_changes(const KernelCase& given, const KernelCase& measured) {
  return Weights(given, measured).changes();
}

}  // namespace binade
