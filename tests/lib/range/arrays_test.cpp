// SPDX-License-Identifier: Apache-2.0
//
// The functions of arrays against the emulator's definitions of the same names, on arrays of one
// and of many pieces.
#include "lib/range/arrays.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "lib/range/summary_bytes.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::array<std::size_t, 3> sizes{0, 1000, 100001};

template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> out(n);
  for (T& x : out) {
    const double bits = static_cast<double>(random() >> 40) * 0x1p-24 + 1;
    const int exponent = static_cast<int>(random() % 60) - 40;
    x = static_cast<T>(std::ldexp(random() % 2 == 0 ? bits : -bits, exponent));
  }
  return out;
}

template <class T>
bool same_bytes(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

TEST_CASE_TEMPLATE("quantize rounds and counts as the definition does", T, float, double) {
  for (const std::size_t n : sizes) {
    for (const Rounding rounding : {Rounding::ties_to_even, Rounding::stochastic}) {
      const Quantizer to{.format = e5m2, .attributes = {.rounding = rounding}, .seed = 3};
      const std::vector<T> x = random_values<T>(n, 1);
      std::vector<T> ours(n), defined(n);
      EventCounts counts;
      quantize(x.data(), defined.data(), n, std::uint64_t{7}, to, counts);
      CHECK(quantize(x, ours, to, 7) == counts);
      CHECK(same_bytes(ours, defined));
      std::vector<T> in_place = x;
      CHECK(quantize(in_place, in_place, to, 7) == counts);
      CHECK(same_bytes(in_place, defined));
    }
  }
}

TEST_CASE_TEMPLATE("encodings and their values are the definition's", T, float, double) {
  for (const Format& format : {e4m3, bfloat16}) {
    const std::size_t n = 50001;
    const std::vector<T> x = random_values<T>(n, 2);
    const std::size_t bytes = n * code_bytes(format);
    std::vector<std::byte> ours(bytes), defined(bytes);
    EventCounts counts;
    quantize_to_codes(x.data(), defined.data(), n, std::uint64_t{0}, {.format = format}, counts);
    CHECK(quantize_to_codes(x, ours, {.format = format}) == counts);
    CHECK(same_bytes(ours, defined));
    std::vector<T> decoded(n), by_definition(n);
    values_of_codes(ours, decoded, format);
    values_of_codes(ours.data(), by_definition.data(), n, format);
    CHECK(same_bytes(decoded, by_definition));
  }
}

TEST_CASE_TEMPLATE("elementwise computes and counts as the definition does", T, float, double) {
  const std::size_t n = 40001;
  Elementwise how{
      .operation = Operation::multiply_add, .from = {bfloat16, bfloat16, binary32}, .to = e5m2};
  std::vector<T> a = random_values<T>(n, 3), b = random_values<T>(n, 4);
  const std::vector<T> c = random_values<T>(n, 5);
  quantize(a, a, {.format = bfloat16});
  quantize(b, b, {.format = bfloat16});
  std::vector<T> ours(n), defined(n);
  EventCounts counts;
  elementwise(a.data(), b.data(), c.data(), defined.data(), n, std::uint64_t{0}, how, counts);
  CHECK(elementwise(a, b, c, ours, how) == counts);
  CHECK(same_bytes(ours, defined));
  how.operation = Operation::square_root;
  counts = {};
  elementwise(a.data(), a.data(), a.data(), defined.data(), n, std::uint64_t{0}, how, counts);
  CHECK(elementwise(a, {}, {}, ours, how) == counts);
  CHECK(same_bytes(ours, defined));
}

TEST_CASE_TEMPLATE("range_summary counts as the definition does", T, float, double) {
  const std::vector<T> x = random_values<T>(70001, 6);
  const std::vector<ErrorColumn> columns{{.format = binary16, .scale_log2 = 3}};
  RangeBlock<T> block;
  block.reset(columns);
  range_count(x.data(), x.size(), block);
  RangeSummary defined = empty_summary(columns);
  add_block(defined, block, x.size());
  CHECK(range_summary(x, columns) == defined);
  CHECK(range_summary(std::span<const T>()) == empty_summary({}));
}

TEST_CASE("spans that do not fit together, and types that hold too little, are refused") {
  const std::vector<float> x(3);
  std::vector<float> two(2), three(3);
  std::vector<std::byte> bytes(5);
  CHECK_THROWS_WITH_AS(quantize(x, two, {}), "out: 2 elements, not 3; give spans of the same size",
                       Error);
  CHECK_THROWS_WITH_AS(quantize_to_codes(x, bytes, {}),
                       "out: 5 elements, not 6; give spans of the same size", Error);
  CHECK_THROWS_WITH_AS(values_of_codes(bytes, two, e4m3),
                       "in: 5 elements, not 2; give spans of the same size", Error);
  CHECK_THROWS_WITH_AS(
      quantize(x, three, {.format = binary64}),
      "binary64: not all of its numbers are numbers of float; give spans of double", Error);
  CHECK_THROWS_WITH_AS(elementwise(x, two, {}, three, {}),
                       "b: 2 elements, not 3; give spans of the same size", Error);
  CHECK_THROWS_WITH_AS(elementwise(x, x, x, three, {}),
                       "c: 3 elements, not 0; give spans of the same size", Error);
  CHECK_THROWS_AS(range_summary(x, std::vector<ErrorColumn>(max_error_columns + 1)), Error);
}

TEST_CASE("formats and attributes that there are not are refused") {
  const std::vector<float> x(3);
  std::vector<float> y(3);
  std::vector<std::byte> bytes(3);
  const auto refused = [&](const Quantizer& to, const char* message) {
    CHECK_THROWS_WITH_AS(quantize(x, y, to), message, Error);
    CHECK_THROWS_WITH_AS(quantize_to_codes(x, bytes, to), message, Error);
  };
  const std::string no_format =
      ": no format that is computed with; give a named one, or one of parse_format()";
  for (const Format& f : {Format{}, Format{8, 60, 127}, Format{-1, 3, 7},
                          Format{5, 3, 15, static_cast<Specials>(77)}}) {
    refused({.format = f}, ("format" + no_format).c_str());
    CHECK_THROWS_WITH_AS(values_of_codes(bytes, y, f), ("format" + no_format).c_str(), Error);
    CHECK_THROWS_WITH_AS(elementwise(x, x, {}, y, {.to = f}), ("to" + no_format).c_str(), Error);
    CHECK_THROWS_WITH_AS(elementwise(x, x, {}, y, {.from = {binary16, f, binary16}}),
                         ("from" + no_format).c_str(), Error);
    CHECK_THROWS_WITH_AS(range_summary(x, {{f, 0}}), ("columns" + no_format).c_str(), Error);
  }
  refused({.operands = {99, 99, 99}}, ("operands" + no_format).c_str());
  const char* const unknown =
      "attributes: a rounding, saturation, tininess or nan that there is not; give one of its "
      "enumeration";
  for (const Attributes& how : {Attributes{.rounding = static_cast<Rounding>(99)},
                                Attributes{.saturation = static_cast<Saturation>(99)},
                                Attributes{.tininess = static_cast<Tininess>(99)},
                                Attributes{.nan = static_cast<NanResult>(99)}}) {
    refused({.attributes = how}, unknown);
    CHECK_THROWS_WITH_AS(elementwise(x, x, {}, y, {.attributes = how}), unknown, Error);
  }
  for (const int n : {0, -5, 33}) {
    refused(
        {.attributes = {.rounding = Rounding::stochastic, .random_bits = n}},
        ("attributes.random_bits " + std::to_string(n) + ": give an integer from 1 to 32").c_str());
  }
  CHECK_THROWS_WITH_AS(elementwise(x, x, {}, y, {.operation = static_cast<Operation>(99)}),
                       "operation: there is none of this number; give one of Operation", Error);
}

TEST_CASE("columns whose bytes nobody would read are refused") {
  const std::vector<float> x(3);
  const char* const twice = "columns: a column twice; give each format and scale once";
  CHECK_THROWS_WITH_AS(range_summary(x, {{e4m3, 1}, {binary16, 0}, {e4m3, 1}}), twice, Error);
  for (const int scale : {-127, 128, std::numeric_limits<int>::min()}) {
    CHECK_THROWS_WITH_AS(
        range_summary(x, {{binary16, scale}}),
        ("columns: no such scale, 2^" + std::to_string(scale) + "; give one from 2^-126 to 2^127")
            .c_str(),
        Error);
  }
  CHECK_THROWS_WITH_AS(range_summary(x, {{e8m0, 0}}),
                       "columns: e8m0, whose squared errors a summary does not sum; give a format "
                       "of the report",
                       Error);
  const std::vector<ErrorColumn> good{{e4m3, -126}, {e4m3, 127}};
  const RangeSummary counted = range_summary(std::vector<float>{1, 0.3F}, good);
  CHECK(summary_from_bytes(bytes_of(counted)) == counted);
}

}  // namespace
}  // namespace binade
