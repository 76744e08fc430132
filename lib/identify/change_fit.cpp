// SPDX-License-Identifier: Apache-2.0
//
// Sums in binary64, least squares for the weights of parts of K, and the rows of the exact product
// that the rows of D are nearest to.
#include "lib/identify/change_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "emulate/integer_dot.h"
#include "emulate/project.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t sample_lines = 28;        // rows and columns of a sample of a product
constexpr std::size_t sample_dots = 512;        // elements of a sample of dots
constexpr std::size_t most_weights = 96;        // parts of K whose weights are measured
constexpr std::size_t most_lines_moved = 8192;  // rows of D whose places are searched

std::vector<double> numbers_of(const std::vector<std::uint64_t>& codes, const Format& f) {
  std::vector<double> out(codes.size());
  parallel_for(codes.size(), 1 << 12, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) out[i] = number_in(codes[i], f);
  });
  return out;
}

/// A unit in the last place of D's format at x.
double ulp_at(double x, const Format& f) {
  if (is_integer(f)) return 1;
  const int e = x == 0 || !std::isfinite(x) ? f.emin() : std::max(std::ilogb(x), f.emin());
  return std::ldexp(1.0, e - f.fraction_bits());
}

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

/// Solves the normal equations of least squares, or returns nothing if they are singular.
std::vector<double> solved(std::vector<double> matrix, std::vector<double> right) {
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
  return right;
}

/// A factor as people choose it, if one lies within `error` of x: a power of two, a whole number or
/// its inverse, the inverse of a root.
std::string factor_words(double x, double error, double& exact) {
  const double size = std::abs(x);
  const std::string sign = x < 0 ? "-" : "";
  const auto fits = [&](double wanted) {
    const bool near = std::abs(size / wanted - 1) <= error;
    if (near) exact = std::copysign(wanted, x);
    return near;
  };
  const int e = static_cast<int>(std::lround(std::log2(size)));
  if (fits(std::ldexp(1.0, e))) {
    return e == 0            ? sign + "1"
           : e > 0 && e < 10 ? fmt::format("{}{}", sign, 1 << e)
                             : fmt::format("{}2^{}", sign, e);
  }
  // Where such factors lie close together, one fits by chance.
  for (int d = 3; d <= 1024 && 8 * d * error < 1; ++d) {
    if (fits(d)) return fmt::format("{}{}", sign, d);
    if (fits(1.0 / d)) return fmt::format("{}1/{}", sign, d);
    if (fits(1 / std::sqrt(d))) return fmt::format("{}1/√{}", sign, d);
    if (fits(std::sqrt(d))) return fmt::format("{}√{}", sign, d);
  }
  if (fits(1 / std::sqrt(2.0))) return sign + "1/√2";
  if (fits(std::sqrt(2.0))) return sign + "√2";
  for (int digits = 1; digits <= 6 && std::pow(10.0, digits) * error < 0.25; ++digits) {
    const std::string text = fmt::format("{:.{}g}", size, digits);
    if (fits(std::stod(text))) return sign + text;
  }
  exact = x;
  return fmt::format("about {:.9g}", x);
}

/// Weights of the parts of K by which D is their sum.
class Weights {
 public:
  explicit Weights(const KernelCase& given) : given_(given), part_(sample_of(given, {})) {}

  std::vector<Change> changes() {
    const KernelRun& run = part_.run;
    sums_ = near_sums(part_);
    addends();
    const std::size_t most = std::min(most_weights, run.size() / 4);
    if (most == 0) return {};
    std::size_t step = 1;
    while ((run.k + step - 1) / step > most) step *= 2;
    std::vector<Change> out;
    if (const auto all = scaled(); !all.words.empty()) out.push_back(all);
    if (step < run.k) {
      for (Change& change : weighted(step)) out.push_back(std::move(change));
    }
    return out;
  }

 private:
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
  bool is_used(std::size_t at) const {
    return std::isfinite(sums_.found[at]) && std::isfinite(sums_.exact[at]);
  }

  /// One factor for all sums, and one for C or, without C, for the bias.
  Change scaled() const {
    const KernelRun& run = part_.run;
    const bool of_bias = run.c.empty() && !run.bias.empty();
    const bool with_c = !run.c.empty() || of_bias;
    const auto addend = [&](std::size_t at) {
      if (of_bias) return number_in(run.bias[run.column(at)], part_.types.bias);
      return run.c.empty() ? 0.0 : given_.epilogue.beta * number_in(run.c[at], part_.types.c);
    };
    std::vector<double> matrix(4), right(2);
    std::vector<std::array<double, 3>> rows;  // product, C, D without the bias
    double size = 0;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      if (!is_used(at)) continue;
      const double c = addend(at);
      const double product = sums_.exact[at] - rest_[at];
      // Where terms cancel, errors of rounding are large beside the sum.
      if (!with_c && std::abs(product) < sums_.size[at] / 64) continue;
      const double wanted = sums_.found[at] - (rest_[at] - c);
      matrix[0] += product * product;
      matrix[2] += c * product;
      matrix[3] += c * c;
      right[0] += product * wanted;
      right[1] += c * wanted;
      size += wanted * wanted;
      rows.push_back({product, c, wanted});
    }
    if (rows.size() < 4 || matrix[0] == 0) return {};
    if (!with_c) {
      matrix.resize(1);
      right.resize(1);
    }
    std::vector<double> factors = solved(matrix, right);
    if (factors.empty()) return {};
    factors.push_back(1);
    double left = 0;
    for (const auto& [product, c, wanted] : rows) {
      const double error = wanted - factors[0] * product - (with_c ? factors[1] : 0) * c;
      left += error * error;
    }
    const double spread = std::sqrt(left / std::max(size, 1e-300));
    if (!(spread < 1.0 / 64)) return {};
    // Tensor Cores cut sums toward zero, which makes them smaller by some 2^-24.
    const double of_one = std::sqrt(left / static_cast<double>(rows.size()));
    Change out;
    const auto scale = [&](const char* what, double factor, double squares, double& to) {
      const double error = 0x1p-20 + 8 * of_one / std::sqrt(std::max(squares, 1e-300));
      if (std::abs(factor - 1) <= error) return;
      if (std::abs(factor) <= error) {
        to = 0;
        out.words += fmt::format("{}{} left out", out.words.empty() ? "" : ", ", what);
        return;
      }
      out.words +=
          fmt::format("{}{} scaled by {}", out.words.empty() ? "" : ", ", what,
                      factor_words(factor, 0x1p-20 + (error - 0x1p-20) / std::abs(factor), to));
    };
    scale("the sum", factors[0], matrix[0], out.alpha);
    if (!with_c) return out;
    scale(of_bias ? "the bias" : "C", factors[1], matrix[3], out.beta);
    if (of_bias && out.beta != 1) {  // an epilogue has no factor of the bias, but one of C
      out.without_bias = true;
      out.c = [&bias = given_.run.bias, n = given_.run.n](std::size_t at) { return bias[at % n]; };
      out.as_c = given_.types.bias;
      out.beta /= given_.epilogue.beta;
    }
    return out;
  }

  std::vector<Change> weighted(std::size_t step) const {
    const KernelRun& run = part_.run;
    const std::size_t n = (run.k + step - 1) / step;
    std::vector<double> a(run.a.size()), b(run.b.size());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = number_in(run.a[i], part_.types.a);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = number_in(run.b[i], part_.types.b);
    std::vector<double> matrix(n * n), right(n), row(n);
    double before = 0, size = 0;
    std::vector<std::vector<double>> rows;
    for (std::size_t at = 0; at < run.size(); ++at) {
      if (!is_used(at)) continue;
      const double* x = a.data() + run.row(at) * run.k;
      const double* y = b.data() + run.column(at) * run.k;
      std::ranges::fill(row, 0);
      for (std::size_t k = 0; k < run.k; ++k) row[k / step] += x[k] * y[k] * given_.epilogue.alpha;
      const double wanted = sums_.found[at] - rest_[at];
      for (std::size_t i = 0; i < n; ++i) {
        right[i] += row[i] * wanted;
        for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] += row[i] * row[j];
      }
      before += (sums_.found[at] - sums_.exact[at]) * (sums_.found[at] - sums_.exact[at]);
      size += wanted * wanted;
      rows.push_back(row);
    }
    const std::vector<double> weights = solved(matrix, right);
    if (weights.empty() || size == 0) return {};
    double left = 0;
    std::size_t index = 0;
    for (std::size_t at = 0; at < run.size(); ++at) {
      if (!is_used(at)) continue;
      double x = sums_.found[at] - rest_[at];
      for (std::size_t i = 0; i < n; ++i) x -= weights[i] * rows[index][i];
      left += x * x;
      ++index;
    }
    if (left > before / 4 || left > size / 64) return {};
    return parted(weights, step);
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
      if (std::abs(weights[i] - weight) > 0.1 || weight < 0 || weight > 2) return {};
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
    if (!some || out.places.empty()) return {};
    if (words.size() > 4) words = {periodic_words(weights, step)};
    if (words[0].empty()) return {};
    std::vector<Change> all;
    out.words = "of K, " + fmt::format("{}", fmt::join(words, ", "));
    out.places.insert(out.places.end(), twice.begin(), twice.end());
    all.push_back(out);
    return all;
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
  NearSums sums_;
  std::vector<double> rest_;
};

/// The words for rows (or columns) that hold others: line i holds what line from[i] should.
std::string moved_words(const char* noun, const std::vector<std::size_t>& from) {
  const std::size_t n = from.size();
  const auto all = [&](auto place) {
    for (std::size_t i = 0; i < n; ++i) {
      if (from[i] != place(i)) return false;
    }
    return true;
  };
  if (all([n](std::size_t i) { return n - 1 - i; })) {
    return fmt::format("{}s in the reverse order", noun);
  }
  const std::size_t shift = from[0];
  if (shift != 0 && std::has_single_bit(shift) && all([&](std::size_t i) { return i ^ shift; })) {
    return fmt::format("{}s exchanged in blocks of {}", noun, shift);
  }
  if (shift != 0 && all([&](std::size_t i) { return (i + shift) % n; })) {
    const bool on = shift <= n / 2;
    return fmt::format("{}s shifted by {}: {} i holds {} i {} {}", noun, on ? shift : n - shift,
                       noun, noun, on ? "+" : "-", on ? shift : n - shift);
  }
  std::string out;
  std::size_t told = 0;
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;
    while (end < n && from[end] - end == from[i] - i) ++end;
    if (from[i] != i) {
      if (told++ == 4) return out + " …";
      out += out.empty() ? fmt::format("{}s exchanged: ", noun) : ", ";
      out += end == i + 1 ? fmt::format("{} holds {}", i, from[i])
                          : fmt::format("{}..{} hold {}..{}", i, end - 1, from[i], from[end - 1]);
    }
    i = end;
  }
  return out;
}

/// Finds the rows of the exact product that rows of D are near to.
std::vector<std::size_t> places_of_lines(const KernelCase& given, bool rows) {
  const KernelRun& run = given.run;
  const std::size_t lines = rows ? run.m : run.n;
  std::vector<std::size_t> every(lines);
  std::iota(every.begin(), every.end(), std::size_t{0});
  const std::vector<std::size_t> others = spread_over(rows ? run.n : run.m, 24);
  Change bare;
  bare.without_c = bare.without_bias = true;
  const KernelCase part = part_of(given, bare, rows ? every : others, rows ? others : every, false);
  const NearSums sums = near_sums(part);
  std::vector<double> rest(part.run.size(), 0);
  const KernelCase with = part_of(given, {}, rows ? every : others, rows ? others : every, false);
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const std::size_t j = with.run.column(at);
    if (!with.run.c.empty())
      rest[at] += given.epilogue.beta * number_in(with.run.c[at], with.types.c);
    if (!with.run.bias.empty()) rest[at] += number_in(with.run.bias[j], with.types.bias);
  }
  const std::size_t n = part.run.n;
  const auto index = [&](std::size_t line, std::size_t other) {
    return rows ? line * n + other : other * n + line;
  };
  std::vector<std::size_t> from(lines, lines);
  parallel_for(lines, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto near = [&](std::size_t line) {
        std::size_t wrong = 0;
        for (std::size_t o = 0; o < others.size(); ++o) {
          const std::size_t here = index(i, o), there = index(line, o);
          const double wanted = sums.exact[there] + rest[here];
          const double error = std::abs(sums.found[here] - wanted);
          const double most = 2 * ulp_at(wanted, part.types.d) + 0x1p-16 * sums.size[there];
          wrong += error <= most ? 0U : 1U;
          if (5 * wrong > others.size()) return false;
        }
        return true;
      };
      if (near(i)) {
        from[i] = i;
        continue;
      }
      for (std::size_t line = 0; line < lines && from[i] == lines; ++line) {
        if (near(line)) from[i] = line;
      }
    }
  });
  return from;
}

void add_moved(std::vector<Change>& out, const KernelCase& given, bool rows) {
  const std::size_t lines = rows ? given.run.m : given.run.n;
  const std::size_t others = rows ? given.run.n : given.run.m;
  if (lines < 2 || lines > most_lines_moved || others < 3) return;
  std::vector<std::size_t> from = places_of_lines(given, rows);
  std::size_t moved = 0, found = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    if (from[i] == lines) {
      from[i] = i;
      continue;
    }
    ++found;
    if (from[i] != i) ++moved;
  }
  if (moved == 0 || 2 * found < lines) return;
  Change change{.words = moved_words(rows ? "row" : "column", from)};
  const KernelRun& run = given.run;
  if (rows) {
    change.a = [&run, from](std::size_t i, std::size_t k) { return run.a[from[i] * run.k + k]; };
  } else {
    change.b = [&run, from](std::size_t j, std::size_t k) { return run.b[from[j] * run.k + k]; };
  }
  out.push_back(std::move(change));
}

}  // namespace

double number_in(std::uint64_t code, const Format& f) {
  if (is_integer(f)) {
    return static_cast<double>(integer_of(code, f));
  }
  const Exact x = decode(code, f);
  if (x.kind == Kind::nan) return std::numeric_limits<double>::quiet_NaN();
  if (x.kind == Kind::zero) return 0;
  const double size = x.kind == Kind::infinite
                          ? std::numeric_limits<double>::infinity()
                          : std::ldexp(static_cast<double>(x.significand), x.exponent);
  return x.negative ? -size : size;
}

NearSums near_sums(const KernelCase& x) {
  const KernelRun& run = x.run;
  const std::vector<double> a = numbers_of(run.a, x.types.a), b = numbers_of(run.b, x.types.b);
  NearSums out;
  out.found = numbers_of(run.d, x.types.d);
  out.exact.resize(run.size());
  out.size.resize(run.size());
  parallel_for(run.size(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t at = begin; at < end; ++at) {
      const double* const row = a.data() + run.row(at) * run.k;
      const double* const column = b.data() + run.column(at) * run.k;
      double sum = 0, size = 0;
      for (std::size_t k = 0; k < run.k; ++k) {
        const double product = row[k] * column[k];
        sum += product;
        size += std::abs(product);
      }
      sum *= x.epilogue.alpha;
      size *= std::abs(x.epilogue.alpha);
      const auto add = [&](double addend) {
        sum += addend;
        size += std::abs(addend);
      };
      if (!run.c.empty()) add(x.epilogue.beta * number_in(run.c[at], x.types.c));
      if (!run.bias.empty()) add(number_in(run.bias[run.column(at)], x.types.bias));
      out.exact[at] = sum;
      out.size[at] = size;
    }
  });
  return out;
}

double NearSums::distance(std::size_t at) const {
  const double error = std::abs(found[at] - exact[at]);
  if (found[at] == exact[at]) return 0;
  if (!std::isfinite(error)) return std::numeric_limits<double>::max();
  return error / std::max(size[at], std::numeric_limits<double>::min());
}

bool is_near(const NearSums& x, std::size_t at, const Format& d) {
  if (x.found[at] == x.exact[at]) return true;
  const double error = std::abs(x.found[at] - x.exact[at]);
  if (is_integer(d)) return false;
  return error <= 1.01 * ulp_at(x.exact[at], d) + 0x1p-20 * x.size[at];
}

ChangeFit fit_of(const KernelCase& x) {
  const NearSums sums = near_sums(x);
  std::vector<double> distances;
  std::size_t near = 0, equal = 0;
  for (std::size_t at = 0; at < x.run.size(); ++at) {
    distances.push_back(sums.distance(at));
    near += is_near(sums, at, x.types.d) ? 1U : 0U;
    const bool same =
        is_integer(x.types.d)
            ? sums.exact[at] == sums.found[at]
            : convert(std::bit_cast<std::uint64_t>(sums.exact[at]), binary64, x.types.d).bits ==
                  x.run.d[at];
    equal += same ? 1U : 0U;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(x.run.size(), 1));
  return {static_cast<double>(near) / n, static_cast<double>(equal) / n,
          median(std::move(distances))};
}

std::vector<std::size_t> spread_over(std::size_t n, std::size_t most) {
  std::vector<std::size_t> out;
  const std::size_t count = std::min(n, most);
  for (std::size_t i = 0; i < count; ++i) out.push_back((2 * i + 1) * n / (2 * count));
  return out;
}

KernelCase sample_of(const KernelCase& given, const Change& change) {
  if (given.run.dots) {
    const auto some = spread_over(given.run.m, sample_dots);
    return part_of(given, change, some, some, true);
  }
  const std::size_t m = given.run.m, n = given.run.n;
  const std::size_t all = sample_lines * sample_lines;
  const std::size_t rows = std::min(m, std::max(sample_lines, all / std::max<std::size_t>(n, 1)));
  const std::size_t columns =
      std::min(n, std::max(sample_lines, all / std::max<std::size_t>(m, 1)));
  return part_of(given, change, spread_over(m, rows), spread_over(n, columns), false);
}

std::vector<Change> measured_changes(const KernelCase& given) {
  std::vector<Change> out;
  if (!given.run.dots) {
    add_moved(out, given, true);
    add_moved(out, given, false);
  }
  for (Change& change : Weights(given).changes()) out.push_back(std::move(change));
  return out;
}

}  // namespace binade
