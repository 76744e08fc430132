// SPDX-License-Identifier: Apache-2.0
//
// Weights of all pairs of a k of A and a k of B in runs of the same length: where D is right, those
// of equal k are 1, and all others 0.
#include "lib/identify/permuted_k.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "lib/identify/change_fit.h"
#include "lib/identify/part_weights.h"
#include "lib/identify/run_scales.h"

namespace binade {
namespace {

/// The k of A that each k of B meets in runs of `period`, or nothing if the weights of some k do
/// not say which one.
std::vector<std::size_t> met_in(const std::vector<double>& weights, std::size_t period) {
  std::vector<std::size_t> out;
  for (std::size_t j = 0; j < period; ++j) {
    for (std::size_t i = 0; i < period; ++i) {
      const double weight = weights[i * period + j];
      if (std::abs(weight) < 0.25) continue;
      if (std::abs(weight - 1) > 0.25 || out.size() > j) return {};
      out.push_back(i);
    }
    if (out.size() != j + 1) return {};
  }
  return out;
}

/// The weights of the period² pairs by which the sums of D are nearest to what they make.
std::vector<double> weights_of(const KernelCase& part, std::size_t period) {
  const KernelRun& run = part.run;
  const std::size_t n = period * period;
  const NearSums sums = near_sums(part);
  const std::vector<double> a = scaled_numbers(part, false), b = scaled_numbers(part, true);
  std::vector<double> matrix(n * n), right(n), pairs(n);
  for (std::size_t at = 0; at < run.size(); ++at) {
    const double* const row = a.data() + run.row(at) * run.k;
    const double* const column = b.data() + run.column(at) * run.k;
    std::ranges::fill(pairs, 0);
    double own = 0;
    for (std::size_t k = 0; k < run.k; ++k) {
      const std::size_t j = k % period;
      for (std::size_t i = 0; i < period; ++i) {
        pairs[i * period + j] += part.epilogue.alpha * row[k - j + i] * column[k];
      }
    }
    for (std::size_t j = 0; j < period; ++j) own += pairs[j * period + j];
    const double wanted = sums.found[at] - sums.exact[at] + own;  // without C and the bias
    if (!std::isfinite(wanted)) continue;
    for (std::size_t i = 0; i < n; ++i) {
      right[i] += pairs[i] * wanted;
      for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] += pairs[i] * pairs[j];
    }
  }
  return least_squares(std::move(matrix), std::move(right));
}

}  // namespace

std::vector<Change> permuted_k(const KernelCase& given) {
  const KernelCase part = sample_of(given, {});
  for (const std::size_t period : {4, 8, 16}) {
    if (given.run.k % period != 0 || given.run.runs.length % period != 0 ||
        2 * period * period > part.run.size())
      continue;
    const std::vector<double> weights = weights_of(part, period);
    if (weights.empty()) continue;
    const std::vector<std::size_t> met = met_in(weights, period);
    std::vector<std::size_t> own(period);
    std::iota(own.begin(), own.end(), std::size_t{0});
    if (met.empty() || met == own) continue;
    Change out{.words = fmt::format("in each run of {} k, those of B meet k {} of A", period,
                                    fmt::join(met, ", "))};
    out.a = [&run = given.run, met, period](std::size_t i, std::size_t k) {
      return run.a[i * run.k + k / period * period + met[k % period]];
    };
    return {out};
  }
  return {};
}

}  // namespace binade
