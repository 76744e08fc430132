// SPDX-License-Identifier: Apache-2.0
//
// Compares the engine of products with the definition, at every level of the kernels' table that
// the machine has.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/gemm/prepared_product.h"
#include "lib/parallel/parallel.h"
#include "tests/lib/gemm/exact_product.h"

namespace binade::test {

/// The size of D, m rows of n columns, and the number k of products of an element.
struct Size {
  std::size_t m, n, k;
};

/// Number of elements that were compared, of those among them that are finite, and of those that
/// were compared as numbers instead of encodings.
struct Tally {
  std::uint64_t elements = 0, numbers = 0, values = 0;
};

inline std::uint64_t defined(const GemmModel& g, const GemmElement<std::uint64_t>& x,
                             int scale_log2) {
  return epilogue(g, x, rescaled(element_sum(g, x), scale_log2, g.epilogue.compute));
}

/// `count` lines of k numbers, given line by line, stored in another layout: the lines are
/// interleaved, the last k comes first, and every second place in memory is unused (a NaN if k is
/// odd, else 0).
struct Laid {
  std::vector<float> values;
  LinePlaces places;

  Laid(const std::vector<float>& numbers, std::size_t count, std::size_t k)
      : values(2 * numbers.size(), k % 2 == 0 ? 0 : std::numeric_limits<float>::quiet_NaN()),
        places(LinePlaces::dense(count, k)) {
    for (std::size_t i = 0; i < count; ++i) places.starts[i] = static_cast<std::int64_t>(2 * i);
    for (std::size_t i = 0; i < k; ++i) {
      places.offsets[i] = static_cast<std::int32_t>(2 * (k - 1 - i) * count);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      values[static_cast<std::size_t>(places.starts[i / k] + places.offsets[i % k])] = numbers[i];
    }
  }
};

/// Checks that operands given as numbers, which have no scales of runs, give D as numbers, for
/// models whose formats allow it. Any
/// NaN equals any other.
inline void check_values(const PreparedProduct& product, const GemmModel& g, const GemmOperands& x,
                         const std::vector<std::uint64_t>& expected, Tally& tally) {
  const auto inside = [](const Format& f) { return !is_integer(f) && fits_in(f, binary32); };
  if (!x.c.empty() || x.runs.any() || g.epilogue.out != binary32 || !inside(g.types.a) || !inside(g.types.b) ||
      (!x.bias.empty() && g.bias != binary32)) {
    return;
  }
  const auto numbers = [](const std::vector<std::uint64_t>& codes, const Format& f) {
    std::vector<float> out;
    for (const std::uint64_t code : codes) out.push_back(value_of<float>(code, f));
    return out;
  };
  const auto a = numbers(x.a, g.types.a), b = numbers(x.b, g.types.b),
             bias = numbers(x.bias, g.bias);
  const Laid rows(a, x.m, x.k), columns(b, x.n, x.k);
  std::vector<float> d(x.m * x.n);
  product.all({rows.places.of(rows.values.data()), columns.places.of(columns.values.data()), bias},
              d.data());
  REQUIRE(d.size() == expected.size());
  for (std::size_t at = 0; at < d.size(); ++at) {
    CAPTURE(at);
    const bool is_nan = decode(expected[at], binary32).kind == Kind::nan;
    REQUIRE((is_nan ? std::isnan(d[at]) : bits_of(d[at]) == expected[at]));
  }
  tally.values += d.size();
}

/// Checks D as a whole and each element by itself, at every level that the machine has.
inline void check_product(const GemmModel& g, const GemmOperands& x, int scale_log2, Tally& tally) {
  const ProductShape shape{x.k, !x.c.empty(), !x.bias.empty(), scale_log2};
  std::vector<std::uint64_t> expected;
  for (std::size_t i = 0; i < x.m; ++i) {
    for (std::size_t j = 0; j < x.n; ++j) {
      expected.push_back(defined(g, x.element(i, j), scale_log2));
      tally.elements += 1;
      tally.numbers += is_number(expected.back(), g.epilogue.out) ? 1 : 0;
    }
  }
  for (const auto& [name, level] : levels) {
    if (!machine_has(level)) continue;
    CAPTURE(name);
    const Kernels& table = kernels(level);
    const PreparedProduct product(g, shape, table);
    const std::vector<std::uint64_t> all = product.all(x);
    REQUIRE(all.size() == expected.size());
    for (std::size_t at = 0; at < all.size(); ++at) {
      CAPTURE(at);
      REQUIRE(all[at] == expected[at]);
    }
    check_values(product, g, x, expected, tally);
    const DecodedOperands operands = decoded(product.reading(), x.a, x.b, x.k);
    PreparedProduct::Space space = product.space();
    for (std::size_t at = 0; at < expected.size(); at += 1 + at / 7) {
      const std::size_t i = at / x.n, j = at % x.n;
      REQUIRE(product.element(operands, i, j, x.element(i, j), space) == expected[at]);
    }
  }
}

}  // namespace binade::test
