// SPDX-License-Identifier: Apache-2.0
//
// The counting pass against plain arithmetic on each value, and its error columns against the exact
// difference between a value and what the oracle rounds it to.
#include "emulate/range_count.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "tests/emulate/oracle_bridge.h"

namespace binade::range_count_test {
namespace {

template <class T>
std::vector<T> batch(std::size_t n) {
  std::mt19937_64 random(5);
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> out{T{0},
                     -T{0},
                     inf,
                     -inf,
                     std::numeric_limits<T>::quiet_NaN(),
                     -std::numeric_limits<T>::quiet_NaN(),
                     std::numeric_limits<T>::denorm_min(),
                     -std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::min()};
  const std::vector<double> cuts{1,          1.75,       1.8125,      1.875,
                                 2 - 0x1p-7, 2 - 0x1p-8, 2 - 0x1p-10, 2 - 0x1p-11};
  for (const int e : {-140, -27, -25, -15, 0, 8, 15, 100}) {
    for (const double cut : cuts) {
      const T x = static_cast<T>(std::ldexp(cut, e));
      out.insert(out.end(), {x, std::nextafter(x, T{0}), std::nextafter(x, inf), -x});
    }
  }
  while (out.size() < n) {
    const double m = 1 + std::ldexp(static_cast<double>(random() >> 12), -52);
    const double x = std::ldexp(m, static_cast<int>(random() % 60) - 40);
    out.push_back(static_cast<T>(random() % 2 == 0 ? x : -x));
  }
  return out;
}

/// Returns the segment as its definition has it: m = 1 | 1.75 | > 1.8125 | 1.875 | 2-2^-7 | …
int segment_by_words(double m) {
  if (m == 1) return 0;
  if (m < 1.75) return 1;
  if (m <= 1.8125) return 2;
  if (m < 1.875) return 3;
  if (m < 2 - 0x1p-7) return 4;
  if (m < 2 - 0x1p-8) return 5;
  if (m < 2 - 0x1p-10) return 6;
  return m < 2 - 0x1p-11 ? 7 : 8;
}

template <class T>
void check_block() {
  const std::vector<T> in = batch<T>(20000);
  const auto block = std::make_unique<RangeBlock<T>>();
  block->reset({});
  range_count(in.data(), in.size(), *block);

  std::vector<std::array<std::uint64_t, segments>> count(block->rows.size());
  std::vector<std::array<uint128, segments>> sum(block->rows.size());
  std::vector<uint128> squares(block->rows.size());
  std::uint64_t zeros = 0;
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t negative = 0;
  T smallest = std::numeric_limits<T>::infinity();
  T largest = 0;
  for (const T x : in) {
    nan += std::isnan(x) ? 1 : 0;
    inf += std::isinf(x) ? 1 : 0;
    zeros += x == 0 ? 1 : 0;
    negative += !std::isnan(x) && std::signbit(x) ? 1 : 0;
    if (!std::isfinite(x) || x == 0) continue;
    smallest = std::min(smallest, std::abs(x));
    largest = std::max(largest, std::abs(x));
    int e = 0;
    const double m = 2 * std::frexp(static_cast<double>(std::abs(x)), &e);
    const auto row = static_cast<std::size_t>(e - 1 - RangeBlock<T>::lowest);
    const auto segment = static_cast<std::size_t>(segment_by_words(m));
    const auto whole =
        static_cast<std::uint64_t>(std::ldexp(m, std::numeric_limits<T>::digits - 1));
    count[row][segment] += 1;
    sum[row][segment] += whole;
    squares[row] += uint128{whole} * whole;
  }
  CHECK(block->zeros == zeros);
  CHECK(block->nan == nan);
  CHECK(block->inf == inf);
  CHECK(block->negative == negative);
  CHECK(block->smallest == bits_of(smallest));
  CHECK(block->largest == bits_of(largest));
  std::size_t different = 0;
  std::array<std::uint64_t, segments> seen{};
  for (std::size_t i = 0; i < block->rows.size(); ++i) {
    different += block->rows[i].squares == squares[i] ? 0 : 1;
    for (std::size_t s = 0; s < segments; ++s) {
      different +=
          block->rows[i].count[s] == count[i][s] && block->rows[i].sum[s] == sum[i][s] ? 0 : 1;
      seen[s] += count[i][s];
    }
  }
  CHECK(different == 0);
  for (const std::uint64_t n : seen) CHECK(n > 0);
}

TEST_CASE("counts, sums and squares of floats are those of reading each value") {
  check_block<float>();
}
TEST_CASE("counts, sums and squares of doubles are those of reading each value") {
  check_block<double>();
}

TEST_CASE("the error columns hold the squared distance to what ties-to-even saturated delivers") {
  const std::vector<float> in = batch<float>(5000);
  std::vector<ErrorColumn> columns;
  for (const Format& f : {binary16, bfloat16, tf32, e5m2, e4m3}) {
    for (const int scale : {0, 8, -5}) columns.push_back({f, scale});
  }
  REQUIRE(columns.size() <= std::size_t{max_error_columns});
  const auto block = std::make_unique<RangeBlock<float>>();
  block->reset(columns);
  range_count(in.data(), in.size(), *block);
  std::size_t nonzero = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const oracle::Oracle judge(test::spec_of(columns[c].format));
    std::vector<uint128> want(block->rows.size());
    for (const float x : in) {
      if (!std::isfinite(x) || x == 0) continue;
      int e = 0;
      std::frexp(x, &e);
      e -= 1;
      if (e + columns[c].scale_log2 > columns[c].format.emax()) continue;
      const double scaled = std::ldexp(static_cast<double>(std::abs(x)), columns[c].scale_log2);
      const oracle::Outcome o = judge.round(oracle::value_of(std::bit_cast<std::uint64_t>(scaled),
                                                             oracle::named_spec("binary64").spec),
                                            {.saturate = true});
      const double error =
          std::abs(scaled - oracle::to_double(oracle::value_of(o.bits, judge.spec())));
      const auto whole =
          static_cast<std::uint64_t>(std::ldexp(error, 23 - e - columns[c].scale_log2));
      want[static_cast<std::size_t>(e - RangeBlock<float>::lowest)] += uint128{whole} * whole;
    }
    std::size_t different = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      different += block->rows[i].squared_error[c] == want[i] ? 0 : 1;
      nonzero += want[i] != 0 ? 1 : 0;
    }
    CAPTURE(test::words(columns[c].format));
    CAPTURE(columns[c].scale_log2);
    CHECK(different == 0);
  }
  CHECK(nonzero > 100);
}

template <class T>
void check_clear(const std::vector<T>& values) {
  constexpr std::array<ErrorColumn, 2> columns{{{binary16, 0}, {e4m3, 5}}};
  const auto block = std::make_unique<RangeBlock<T>>();
  const auto fresh = std::make_unique<RangeBlock<T>>();
  block->reset(columns);
  fresh->reset(columns);
  range_count(values.data(), values.size(), *block);
  block->clear();
  const auto is_as_fresh = [](const auto& a, const auto& b) {
    return a.count == b.count && a.sum == b.sum && a.squares == b.squares &&
           a.squared_error == b.squared_error && a.rules[0].ulp == b.rules[0].ulp &&
           a.rules[1].ulp == b.rules[1].ulp;
  };
  CHECK(std::ranges::equal(block->rows, fresh->rows, is_as_fresh));
  CHECK(block->zeros + block->nan + block->inf + block->negative == 0);
  CHECK(block->smallest == fresh->smallest);
  CHECK(block->largest == fresh->largest);
  CHECK(block->used_rows().empty());
}

TEST_CASE("a block that is cleared is as reset, rules and all, wherever its values were") {
  check_clear(batch<float>(3000));
  check_clear(batch<double>(3000));
  check_clear(std::vector<float>{0x1p-149F});
  check_clear(std::vector<float>{std::numeric_limits<float>::max(), 1});
  check_clear(std::vector<float>{0, std::numeric_limits<float>::infinity()});
  check_clear(std::vector<double>{0x1p-1074, -0x1p-1070});
}

}  // namespace
}  // namespace binade::range_count_test
