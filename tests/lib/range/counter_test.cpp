// SPDX-License-Identifier: Apache-2.0
//
// Counting bytes into a summary: alignment, division into pieces, element types and sizes change
// nothing.
#include "lib/range/counter.h"

#include <doctest/doctest.h>

#include <cstring>

#include "lib/parallel/parallel.h"
#include "tests/lib/range/exact.h"
#include "tests/lib/range/values.h"

namespace binade::test::counter_test {
namespace {

const std::vector<ErrorColumn> columns{{binary16, 0}, {bfloat16, 4}, {e4m3, 0}, {e5m2, -7}};

template <class T>
std::vector<T> values_for_counting() {
  std::vector<T> values = random_values<T>(200000, -60, 30, 11);  // several grains
  append(values, special_values<T>());
  append(values, edge_values<T>(-30, 20, 5));
  return values;
}

TEST_CASE("bytes at any alignment count the same") {
  const auto check = [](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const RangeSummary want = summary_of(values, columns);
    for (const std::size_t offset : {1U, 2U, 3U, 7U}) {
      std::vector<std::byte> moved(bytes.size() + offset);
      std::memcpy(moved.data() + offset, bytes.data(), bytes.size());
      RangeCounter counter(columns);
      counter.add(std::span(moved).subspan(offset), dtype_of<std::decay_t<decltype(values[0])>>());
      CHECK(counter.finish() == want);
    }
  };
  check(values_for_counting<float>());
  check(values_for_counting<double>());
}

TEST_CASE("chunks of any size, one after the other, count the same as one") {
  const std::vector<float> values = values_for_counting<float>();
  const auto bytes = std::as_bytes(std::span(values));
  const RangeSummary want = summary_of(values, columns);
  std::mt19937_64 random(3);
  RangeCounter counter(columns);
  for (int round = 0; round < 3; ++round) {  // a counter is used again after finish
    for (std::size_t at = 0; at < values.size();) {
      const std::size_t n = std::min<std::size_t>(random() % 90000, values.size() - at);
      counter.add(bytes.subspan(4 * at, 4 * n), dtype_of<float>());
      at += n;
    }
    REQUIRE(counter.finish() == want);
  }
}

TEST_CASE("one counter serves tensors of different types in turn") {
  const std::vector<float> floats = random_values<float>(1000, -20, 20, 1);
  const std::vector<double> doubles = random_values<double>(1000, -200, 200, 2);
  const std::vector<std::uint16_t> halves{0x3C00, 0x0001, 0xFC00, 0x7E00, 0x8000};
  RangeCounter counter(columns);
  for (int round = 0; round < 2; ++round) {
    counter.add(std::as_bytes(std::span(floats)), *find_dtype("F32"));
    CHECK(counter.finish() == summary_of(floats, columns));
    counter.add(std::as_bytes(std::span(halves)), *find_dtype("F16"));
    CHECK(counter.finish().values == 5);
    counter.add(std::as_bytes(std::span(doubles)), *find_dtype("F64"));
    CHECK(counter.finish() == summary_of(doubles, columns));
  }
}

TEST_CASE("nothing added is the empty summary") {
  RangeCounter counter(columns);
  counter.add({}, *find_dtype("BF16"));
  const RangeSummary s = counter.finish();
  CHECK(s.values == 0);
  CHECK(s.binades.empty());
  CHECK(s.columns == columns);
  CHECK(s.squared_error.size() == columns.size());
}

/// Returns the value of an encoding, by the formats' documents.
double value_of_encoding(unsigned bits, const Grid& g) {
  const int fraction_bits = g.precision - 1;
  const unsigned fraction = bits & ((1U << fraction_bits) - 1);
  const bool narrow = g.emax - g.emin < 24;  // e4m3: 8 - -6, the all-ones field holds numbers
  const unsigned all_ones = g.emax == 127 ? 255 : narrow ? 15 : 31;
  const unsigned field = bits >> fraction_bits & all_ones;
  const bool negative = (bits >> fraction_bits >> (g.emax == 127 ? 8 : narrow ? 4 : 5) & 1) != 0;
  double magnitude = 0;
  if (field == 0) {
    magnitude = std::ldexp(fraction, g.emin - fraction_bits);
  } else if (narrow && field == all_ones && fraction == 7) {
    magnitude = NAN;
  } else if (!narrow && field == all_ones) {
    magnitude = fraction == 0 ? INFINITY : NAN;
  } else {
    magnitude = std::ldexp(fraction + (1U << fraction_bits),
                           static_cast<int>(field) - 1 + g.emin - fraction_bits);
  }
  return negative ? -magnitude : magnitude;
}

template <class Bits>
void check_narrow(const char* dtype, const Grid& g) {
  std::mt19937_64 random(5);
  std::vector<Bits> encodings;
  const std::uint64_t all = std::uint64_t{1} << (8 * sizeof(Bits));
  for (std::uint64_t bits = 0; bits < all; ++bits) {
    encodings.insert(encodings.end(), 1 + random() % 3, static_cast<Bits>(bits));
  }
  std::ranges::shuffle(encodings, random);
  std::vector<float> floats;
  std::vector<double> doubles;
  for (const Bits bits : encodings) {
    doubles.push_back(value_of_encoding(bits, g));
    floats.push_back(static_cast<float>(doubles.back()));
  }
  RangeCounter counter(columns);
  counter.add(std::as_bytes(std::span(encodings)), *find_dtype(dtype));
  const RangeSummary s = counter.finish();
  INFO(name_of(g));
  CHECK(s == summary_of(floats, columns));
  CHECK(s == summary_of(doubles, columns));
  CHECK(s.nan > 0);
  CHECK(s.nonzero() > 200);
}

TEST_CASE("encodings of 8 and 16 bits count like the values they stand for, all of them") {
  check_narrow<std::uint16_t>("F16", grids[0]);
  check_narrow<std::uint16_t>("BF16", grids[1]);
  check_narrow<std::uint8_t>("F8_E5M2", grids[3]);
  check_narrow<std::uint8_t>("F8_E4M3", grids[4]);
}

TEST_CASE("few encodings and many, at any alignment and on any slot, count like their values") {
  std::mt19937_64 random(9);
  for (const auto& [name, grid] : {std::pair{"BF16", grids[1]}, {"F16", grids[0]}}) {
    // What is worth a histogram, one less, and several grains with a rest.
    for (const std::size_t n : {1U, 100U, (1U << 17) - 1, 1U << 17, 200'001U}) {
      std::vector<std::byte> bytes(2 * n + 1);
      std::vector<float> floats(n);
      for (std::size_t i = 0; i < n; ++i) {
        const auto code = static_cast<std::uint16_t>(i % 3 == 0 ? 0x8000 : random());
        std::memcpy(&bytes[2 * i + 1], &code, sizeof code);
        floats[i] = static_cast<float>(value_of_encoding(code, grid));
      }
      INFO(std::string(name) << ", " << n);
      const auto data = std::span(bytes).subspan(1);
      const RangeSummary want = summary_of(floats, columns);
      RangeCounter counter(columns);
      counter.add(data, *find_dtype(name));
      CHECK(counter.finish() == want);
      const std::size_t half = n / 2 * 2;
      counter.add(data.first(half), *find_dtype(name), thread_count() - 1);
      counter.add(data.subspan(half), *find_dtype(name), 0);
      CHECK(counter.finish() == want);
    }
  }
}

TEST_CASE("more values than a block holds are all counted") {
  const double x = std::nextafter(2.0, 0.0);
  constexpr std::uint64_t block = RangeBlock<double>::capacity;
  const std::vector<double> chunk(1 << 20, x);
  RangeCounter counter({{binary16, 0}});
  const std::uint64_t chunks = thread_count() * (block >> 20) + 2;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    counter.add(std::as_bytes(std::span(chunk)), *find_dtype("F64"));
  }
  const RangeSummary s = counter.finish();
  const Integer m = power_of_two_of(53) - 1;
  const std::uint64_t n = chunks << 20;
  CHECK(n > block);
  CHECK(s.values == n);
  CHECK(s.binades.at(0).count[8] == n);
  CHECK(integer_of(s.binades.at(0).sum[8]) == m * n);
  CHECK(integer_of_limbs(s.binades.at(0).squares.limbs) == m * m * n);
  CHECK(integer_of(s.squared_error[0]) ==
        in_units(n, -104, ExactSum::unit_exponent));  // 2^-52 each
}

}  // namespace
}  // namespace binade::test::counter_test
