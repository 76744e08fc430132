// SPDX-License-Identifier: Apache-2.0
//
// Sums in binary64, and how far D is from them.
#include "lib/identify/change_fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "emulate/integer_dot.h"
#include "emulate/project.h"
#include "lib/identify/run_scales.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t sample_lines = 28;  // rows and columns of a sample of a product
constexpr std::size_t sample_dots = 512;  // elements of a sample of dots

}  // namespace

NumbersIn::NumbersIn(const Format& f) : f_(f) {
  constexpr int most_bits = 8;
  if (f.bits() > most_bits) return;
  for (std::uint64_t code = 0; code < std::uint64_t{1} << f.bits(); ++code) {
    table_.push_back(number_in(code, f));
  }
}

std::vector<double> numbers_of(const std::vector<std::uint64_t>& codes, const Format& f) {
  const NumbersIn number(f);
  std::vector<double> out(codes.size());
  parallel_for(codes.size(), 1 << 12, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) out[i] = number(codes[i]);
  });
  return out;
}

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

double ulp_at(double x, const Format& f) {
  if (is_integer(f)) return 1;
  const int e = x == 0 || !std::isfinite(x) ? f.emin() : std::max(std::ilogb(x), f.emin());
  return std::ldexp(1.0, e - f.fraction_bits());
}

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
  const std::vector<double> a = scaled_numbers(x, false), b = scaled_numbers(x, true);
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
      const auto add = [&](double addend) {
        sum += addend;
        size += std::abs(addend);
      };
      const auto scale = [&](double factor) {
        sum *= factor;
        size *= std::abs(factor);
      };
      // C of integers, of which zero points are a part, belongs to the sum that is scaled.
      const bool is_scaled = is_integer(x.types.c);
      if (!run.c.empty() && is_scaled) add(number_in(run.c[at], x.types.c));
      scale(x.epilogue.alpha);
      if (!run.a_scale.empty()) scale(number_in(run.a_scale[run.row(at)], binary32));
      if (!run.b_scale.empty()) scale(number_in(run.b_scale[run.column(at)], binary32));
      if (!run.c.empty() && !is_scaled) add(x.epilogue.beta * number_in(run.c[at], x.types.c));
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

std::vector<std::size_t> some_elements(const KernelRun& run, std::span<const std::size_t> elements,
                                       std::size_t most) {
  std::vector<std::size_t> out =
      spread_places(elements.empty() ? run.size() : elements.size(), most);
  for (std::size_t& at : out) at = elements.empty() ? at : elements[at];
  return out;
}

KernelCase sample_of(const KernelCase& given, const Change& change) {
  if (given.run.dots) {
    const auto some = spread_places(given.run.m, sample_dots);
    return part_of(given, change, some, some, true);
  }
  const std::size_t m = given.run.m, n = given.run.n;
  const std::size_t all = sample_lines * sample_lines;
  const std::size_t rows = std::min(m, std::max(sample_lines, all / std::max<std::size_t>(n, 1)));
  const std::size_t columns =
      std::min(n, std::max(sample_lines, all / std::max<std::size_t>(m, 1)));
  return part_of(given, change, spread_places(m, rows), spread_places(n, columns), false);
}

}  // namespace binade
