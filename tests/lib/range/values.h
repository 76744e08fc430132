// SPDX-License-Identifier: Apache-2.0
//
// Values that are hard for a range summary: the borders of its segments and their neighbours, in
// binades up to both ends of the type, subnormals, zeros, infinities, NaNs, and random values.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "lib/range/counter.h"

namespace binade::test {

/// The significands at which segments of a summary begin, as the report's schema has them.
inline constexpr std::array<double, 9> cuts{1,          1.75,        1.8125,      1.875, 2 - 0x1p-7,
                                            2 - 0x1p-8, 2 - 0x1p-10, 2 - 0x1p-11, 2};

/// Returns each border of a segment in the binades first, first + step, …, last, and its two
/// neighbours in T, with both signs.
template <std::floating_point T>
std::vector<T> edge_values(int first, int last, int step) {
  std::vector<T> out;
  const T inf = std::numeric_limits<T>::infinity();
  bool negative = false;
  for (int e = first; e <= last; e += step) {
    for (const double cut : cuts) {
      const T x = std::ldexp(static_cast<T>(cut), e);
      for (const T y : {std::nextafter(x, T{0}), x, std::nextafter(x, inf)}) {
        negative = !negative;
        if (std::isfinite(y)) out.push_back(negative ? -y : y);
      }
    }
  }
  return out;
}

/// Returns zeros, infinities and NaNs, and the smallest and largest numbers of the type.
template <std::floating_point T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  return {T{0},          -T{0},          Limits::infinity(),   -Limits::infinity(),
          Limits::max(), -Limits::max(), Limits::denorm_min(), -Limits::denorm_min(),
          Limits::min(), -Limits::min(), Limits::quiet_NaN(),  -Limits::quiet_NaN(),
          T{0}};
}

/// Returns n values of random sign and significand, whose binades are uniformly distributed from
/// first to last.
template <std::floating_point T>
std::vector<T> random_values(std::size_t n, int first, int last, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> out;
  while (out.size() < n) {
    const double m = 1 + std::ldexp(static_cast<double>(random() >> 12), -52);
    const int e = first + static_cast<int>(random() % static_cast<std::uint64_t>(last - first + 1));
    const T x = static_cast<T>(std::ldexp(m, e));
    if (std::isfinite(x)) out.push_back(random() % 2 == 0 ? x : -x);
  }
  return out;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <std::floating_point T>
Dtype dtype_of() {
  return *find_dtype(sizeof(T) == 4 ? "F32" : "F64");
}

/// Returns the summary of values, as the report makes it.
template <std::floating_point T>
RangeSummary summary_of(const std::vector<T>& values, std::vector<ErrorColumn> columns = {}) {
  RangeCounter counter(std::move(columns));
  counter.add(std::as_bytes(std::span(values)), dtype_of<T>());
  return counter.finish();
}

}  // namespace binade::test
