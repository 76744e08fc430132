// SPDX-License-Identifier: Apache-2.0
//
// Sums in a short format, each made of single emulated additions: one value after another, in
// chunks, in pairs, or with Kahan's compensation. The values must be numbers of the format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/carrier.h"
#include "emulate/operation.h"
#include "experiments/draws.h"
#include "lib/parallel/parallel.h"

namespace binade {

using Values = std::vector<double>;

/// Adds numbers of a format and rounds each result to the format. `stream` is the stream of
/// stochastic rounding.
class Adder {
 public:
  explicit Adder(const Format& format, Rounding rounding = Rounding::ties_to_even,
                 std::uint64_t stream = 0)
      : format_(format), attributes_{.rounding = rounding}, draws_(2018, stream) {}

  double rounded(double x) { return value_of<double>(project_one(exact_of(x)), format_); }
  double add(double a, double b) {
    return value_of<double>(
        project_one(compute(Operation::add, exact_of(a), exact_of(b), {}, attributes_.rounding)),
        format_);
  }

 private:
  std::uint64_t project_one(const Exact& exact) {
    const bool random = attributes_.rounding == Rounding::stochastic;
    return project(exact, format_, attributes_, random ? draws_.word() : 0).bits;
  }

  Format format_;
  Attributes attributes_;
  Draws draws_;
};

/// Rounds each value to `f`, to nearest with ties to even.
inline Values rounded(const Values& values, const Format& f) {
  poll();
  Adder to(f);
  Values out;
  out.reserve(values.size());
  for (const double x : values) out.push_back(to.rounded(x));
  return out;
}

/// Returns the sum in binary64. It is exact for up to 2^16 values of a short format, whose sum
/// needs fewer than 53 bits.
inline double exact_sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum;
}

/// Adds the values one after another.
inline double naive(std::span<const double> values, Adder& adder) {
  poll();
  double sum = 0;
  for (const double x : values) sum = adder.add(sum, x);
  return sum;
}

/// Adds each chunk of `chunk` values from 0, and then the chunks' sums one after another, all in
/// the format. `chunk` must not be 0; the last chunk may be shorter.
inline double chunked(std::span<const double> values, std::size_t chunk, Adder& adder) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); i += chunk) {
    sum = adder.add(sum, naive(values.subspan(i, std::min(chunk, values.size() - i)), adder));
  }
  return sum;
}

/// Adds the sums of the two halves, each computed by the same rule; `values` must not be empty.
inline double pairwise(std::span<const double> values, Adder& adder) {
  poll();
  if (values.size() == 1) return values[0];
  const std::size_t half = values.size() / 2;
  const double left = pairwise(values.first(half), adder);
  return adder.add(left, pairwise(values.subspan(half), adder));
}

/// Adds the values one after another with Kahan's compensation.
inline double kahan(std::span<const double> values, Adder& adder) {
  poll();
  double sum = 0;
  double lost = 0;
  for (const double x : values) {
    const double y = adder.add(x, -lost);
    const double next = adder.add(sum, y);
    lost = adder.add(adder.add(next, -sum), -y);
    sum = next;
  }
  return sum;
}

}  // namespace binade
