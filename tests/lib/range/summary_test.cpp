// SPDX-License-Identifier: Apache-2.0
//
// Filling and merging summaries: no order, no split and no multiplicity changes or wraps a number.
#include "lib/range/summary.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "lib/range/fate.h"
#include "lib/range/summary_bytes.h"
#include "lib/text/error.h"
#include "tests/lib/range/add_encoding.h"
#include "tests/lib/range/exact.h"
#include "tests/lib/range/values.h"

namespace binade::test::summary_test {
namespace {

std::vector<ErrorColumn> some_columns() {
  return {{binary16, 0}, {binary16, 8}, {bfloat16, 0}, {tf32, -3},
          {e5m2, 0},     {e4m3, 0},     {e4m3, 10}};
}

template <class T>
std::vector<T> mixed_values(std::uint64_t seed) {
  std::vector<T> values = special_values<T>();
  append(values, edge_values<T>(-60, 20, 7));
  append(values, edge_values<T>(sizeof(T) == 4 ? -149 : -1074, -100, 31));
  append(values, random_values<T>(3000, -50, 20, seed));
  return values;
}

TEST_CASE("any partition, merged in any order, gives the same summary") {
  std::mt19937_64 random(1);
  const std::vector<float> values = mixed_values<float>(1);
  const RangeSummary whole = summary_of(values, some_columns());
  for (int round = 0; round < 30; ++round) {
    std::vector<std::vector<float>> parts(1 + random() % 9);
    for (const float x : values) parts[random() % parts.size()].push_back(x);
    std::vector<RangeSummary> summaries;
    summaries.reserve(parts.size());
    for (const auto& part : parts) summaries.push_back(summary_of(part, some_columns()));
    std::ranges::shuffle(summaries, random);
    RangeSummary merged = summaries[0];
    for (std::size_t i = 1; i < summaries.size(); ++i) merge(merged, summaries[i]);
    REQUIRE(merged == whole);
  }
}

TEST_CASE("merging is associative and commutative, and an empty summary is its neutral element") {
  const RangeSummary a = summary_of(mixed_values<float>(1), some_columns());
  const RangeSummary b = summary_of(mixed_values<double>(2), some_columns());
  const RangeSummary c = summary_of(random_values<float>(100, -3, 3, 3), some_columns());
  const RangeSummary none = summary_of(std::vector<float>{}, some_columns());
  const auto merged = [](RangeSummary x, const RangeSummary& y) {
    merge(x, y);
    return x;
  };
  CHECK(merged(a, b) == merged(b, a));
  CHECK(merged(merged(a, b), c) == merged(a, merged(b, c)));
  CHECK(merged(a, none) == a);
  CHECK(merged(none, a) == a);
  CHECK(merged(a, b) != a);
}

TEST_CASE("adding encodings one by one is counting the values") {
  const auto check = [](const auto& values, const Format& format) {
    RangeSummary one_by_one = empty_summary(some_columns());
    for (const auto x : values) add_encoding(one_by_one, bits_of(x), format, 1);
    CHECK(one_by_one == summary_of(values, some_columns()));
  };
  check(mixed_values<float>(4), binary32);
  check(mixed_values<double>(5), binary64);
}

TEST_CASE("doubles that are floats give the floats' summary") {
  const std::vector<float> values = mixed_values<float>(6);
  const std::vector<double> wide(values.begin(), values.end());
  CHECK(summary_of(values, some_columns()) == summary_of(wide, some_columns()));
}

TEST_CASE("a scaled summary is that of the scaled values, its errors at the scales that undo it") {
  std::vector<double> values = random_values<double>(3000, -60, 20, 9);
  append(values, edge_values<double>(-60, 20, 3));
  append(values, {0.0, -0.0, INFINITY, -INFINITY, NAN});
  for (const int by : {-110, -17, -1, 0, 1, 30, 110}) {
    for (const std::vector<ErrorColumn>& columns : {std::vector<ErrorColumn>{}, some_columns()}) {
      CAPTURE(by);
      std::vector<double> moved;
      for (const double x : values) moved.push_back(std::ldexp(x, by));
      std::vector<ErrorColumn> undone = columns;
      for (ErrorColumn& column : undone) column.scale_log2 -= by;
      const RangeSummary s = summary_of(values, columns);
      CHECK(scaled(s, by) == summary_of(moved, undone));
      CHECK(scaled(scaled(s, by), -by) == s);
      CHECK(summary_from_bytes(bytes_of(scaled(s, by))) == scaled(s, by));
    }
  }
}

TEST_CASE("a summary is scaled as far as its bytes have room, and no further") {
  constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
  const RangeSummary ends = summary_of(std::vector<double>{0x1.8p-1000, -0x1.4p1000});
  for (const int by : {-74, 23}) {
    CHECK(summary_from_bytes(bytes_of(scaled(ends, by))) == scaled(ends, by));
  }
  for (const int by : {-75, 24, most, least}) CHECK_THROWS_AS(scaled(ends, by), Error);
  const RangeSummary one = summary_of(std::vector<double>{0x1p-1074}, {{binary16, 0}});
  CHECK(scaled(one, 126).columns[0].scale_log2 == -126);
  for (const int by : {-1, 127, most, least}) CHECK_THROWS_AS(scaled(one, by), Error);
  const RangeSummary zeros = summary_of(std::vector<double>{0.0, INFINITY});
  for (const int by : {most, least}) CHECK(scaled(zeros, by) == zeros);
}

TEST_CASE("zeros, NaN, Inf, signs and the extremes are counted") {
  const std::vector<double> values{0.0,      -0.0,      1.5,       -1.5, -0x1p-1074, 0x1.8p1000,
                                   INFINITY, -INFINITY, -INFINITY, NAN,  -NAN};
  const RangeSummary s = summary_of(values);
  CHECK(s.values == 11);
  CHECK(s.zeros == 2);
  CHECK(s.nan == 2);
  CHECK(s.inf == 3);
  CHECK(s.nonzero() == 4);
  CHECK(s.negative == 5);  // -0, -1.5, -2^-1074 and twice -Inf; the sign of a NaN says nothing
  CHECK(value_of(s.smallest) == 0x1p-1074);
  CHECK(value_of(s.largest) == 0x1.8p1000);
  REQUIRE(s.binades.size() == 3);
  CHECK(s.binades.at(0).total() == 2);
  CHECK(s.binades.at(0).count[1] == 2);
  CHECK(s.binades.at(-1074).count[0] == 1);
}

TEST_CASE("each cut of the significand divides where the schema says") {
  for (std::size_t c = 1; c + 1 < cuts.size(); ++c) {
    const bool closed = c != 2;  // (1.8125, 1.875) is open below
    const double at = cuts[c];
    const int segment_at = closed ? static_cast<int>(c) + 1 : static_cast<int>(c);
    for (const auto& [x, segment] : {std::pair{at, segment_at},
                                     {std::nextafter(at, 1.0), static_cast<int>(c)},
                                     {std::nextafter(at, 2.0), static_cast<int>(c) + 1}}) {
      const double value = x;
      const RangeSummary s = summary_of(std::vector<double>{value});
      INFO(value);
      CHECK(s.binades.at(0).count[static_cast<std::size_t>(segment)] == 1);
    }
  }
  CHECK(summary_of(std::vector<double>{1}).binades.at(0).count[0] == 1);
  CHECK(summary_of(std::vector<double>{1 + 0x1p-52}).binades.at(0).count[1] == 1);
}

TEST_CASE("2^64 - 1 equal values wrap no sum: 128 bits of significands, 192 of squares") {
  constexpr std::uint64_t n = ~std::uint64_t{0};
  const std::uint64_t bits = bits_of(std::nextafter(2.0, 0.0));  // the largest significand
  RangeSummary s = empty_summary({{binary16, 0}, {e4m3, 0}, {e4m3, 8}, {e4m3, 20}});
  add_encoding(s, bits, binary64, n);
  const Integer m = power_of_two_of(53) - 1;
  const BinadeRow& row = s.binades.at(0);
  CHECK(s.values == n);
  CHECK(row.count[8] == n);
  CHECK(integer_of(row.sum[8]) == m * n);
  CHECK(integer_of_limbs(row.squares.limbs) == m * m * n);
  CHECK(integer_of_limbs(row.squares.limbs) > power_of_two_of(169));
  const auto error_of = [&](std::size_t column) {
    return integer_of(total_squared_error(s, column));
  };
  const auto want = [&](const Integer& error) {  // in units of 2^-52
    return in_units(error * error * n, -104, ExactSum::unit_exponent);
  };
  CHECK(error_of(0) == want(1));  // rounds to 2
  CHECK(error_of(1) == want(1));
  CHECK(error_of(2) == want(m - (Integer(7) << 50)));         // saturates at 448/2^8 = 1.75
  CHECK(error_of(3) == want(m - (Integer(7) << (50 - 12))));  // and at 448/2^20
  const Fates f = fates(s, e4m3, 20);
  CHECK(f.overflow == n);
  const Masses lost = masses(s, binary16, -26);
  CHECK(integer_of(lost.lost_l1) == in_units(m * n, -52, ExactSum::unit_exponent));
  CHECK(integer_of(lost.lost_squares) == in_units(m * m * n, -104, ExactSum::unit_exponent));
  CHECK(integer_of(masses(s, e4m3, 20).clipped_l1) ==
        in_units((m - (Integer(7) << 38)) * n, -52, ExactSum::unit_exponent));
}

TEST_CASE("blocks filled to their capacity hold their sums, in both types") {
  const auto check = [](auto largest) {
    using T = decltype(largest);
    constexpr std::uint64_t n = RangeBlock<T>::capacity;
    const auto block = std::make_unique<RangeBlock<T>>();
    block->reset({});
    const std::vector<T> tile(4096, largest);
    range_count(tile.data(), tile.size(), *block);
    auto& filled = block->rows[-RangeBlock<T>::lowest];
    filled.count[8] *= n / tile.size();  // as if by as many tiles
    filled.sum[8] *= n / tile.size();
    filled.squares *= n / tile.size();
    RangeSummary s;
    add_block(s, *block, n);
    const Integer m = number_of(largest).n;
    CHECK(s.values == n);
    const BinadeRow& row = s.binades.at(0);
    CHECK(row.count[8] == n);
    CHECK(integer_of(row.sum[8]) == m * n);
    CHECK(integer_of_limbs(row.squares.limbs) == m * m * n);
  };
  check(std::nextafter(2.0F, 0.0F));
  check(std::nextafter(2.0, 0.0));
}

TEST_CASE("summaries of other columns are not merged") {
  const std::vector<float> one{1};
  const RangeSummary without = summary_of(one), with = summary_of(one, some_columns());
  const char* const message =
      "summaries whose columns of squared errors differ; merge those counted alike";
  for (RangeSummary into : {without, summary_of(one, {{binary16, 0}})}) {
    const RangeSummary before = into;
    CHECK_THROWS_WITH_AS(merge(into, with), message, Error);
    CHECK(into == before);
  }
}

}  // namespace
}  // namespace binade::test::summary_test
