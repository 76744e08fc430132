// SPDX-License-Identifier: Apache-2.0
//
// Test cases as a set: they are complete where they are exhaustive, the same for a seed on every
// machine, and never outside their types. Cases of conversions, comparisons and NaNs are hard, as
// judged by integers and by the processor's own float and double, not by the emulator.
// aims_test.cpp judges arithmetic.
#include "lib/cases/hard_cases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/lib/text/words.h"

namespace binade::hard_cases_test {
namespace {

const std::vector<std::string> some_of_each = test::words(R"(
    f16_add bf16_sub f32_mul f64_div f32_rem tf32_sqrt f16_mulAdd f64_mulAdd f32_roundToInt f32_lt
    tf32_eq bf16_minimum f32_to_e4m3 f64_to_tf32 f32_to_i32 f64_to_ui64 i32_to_f16 ui64_to_f32
    e5m7_add e5m2fnuz,f32_mul_to_f16 fma.rn.f16x2 add.rn.ftz.f32x2 min.NaN.bf16x2 fma.rz.f32.bf16
    tf32,tf32,f32_mulAdd_to_f32 e8m0,f32_mul_to_f32 e3m2,f16_add_to_bf16)");

std::vector<TestOperands> cases_of(const std::string& name) {
  return hard_cases(parse_test_function(name), 1);
}

/// Returns the number of hard cases for which a predicate holds.
template <class Predicate>
long count(const std::string& name, Predicate&& holds) {
  const std::vector<TestOperands> cases = cases_of(name);
  return std::ranges::count_if(cases, holds);
}

float float_of(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

std::uint64_t digest(std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  const auto take = [&](const TestOperands& operands) {
    for (const std::uint64_t bits : std::span(operands).first(3)) {
      for (int i = 0; i < 64; i += 8) hash = (hash ^ (bits >> i & 0xFF)) * 0x100000001B3;
    }
  };
  for (const std::string& name : some_of_each) {
    const TestFunction function = parse_test_function(name);
    for (const TestOperands& operands : hard_cases(function, seed)) take(operands);
    for (std::uint64_t i = 0; i < 1000; ++i) take(random_case(function, seed, i));
  }
  return hash;
}

}  // namespace

TEST_CASE("functions of few operand bits are asked everything, each combination once") {
  for (const auto& [named, bits] :
       std::vector<std::pair<std::string, int>>{{"e4m3_add", 16},
                                                {"f16_sqrt", 16},
                                                {"f16_to_e4m3", 16},
                                                {"i8_to_f16", 8},
                                                {"ui16_to_f32", 16},
                                                {"e2m1_mulAdd", 12},
                                                {"e3m2_mulAdd", 18},
                                                {"e4m4_add", 18},
                                                {"e2m1,e2m3,e3m2_mulAdd_to_f16", 16},
                                                {"e8m0_sqrt", 8},
                                                {"ue4m3_mul", 14},
                                                {"cvt.rn.f16.bf16", 16},
                                                {"cvt.rn.f16x2.e4m3x2", 16},
                                                {"cvt.rn.f16x2.e2m3x2", 12},
                                                {"cvt.rn.f16x2.e2m1x2", 8}}) {
    const std::string name = named;
    CAPTURE(name);
    const TestFunction function = parse_test_function(name);
    CHECK(is_exhaustive(function));
    const std::vector<TestOperands> cases = hard_cases(function, 1);
    CHECK(cases.size() == std::size_t{1} << bits);
    CHECK(std::set<TestOperands>(cases.begin(), cases.end()).size() == cases.size());
    CHECK(hard_cases(function, 2) == cases);
  }
  for (const std::string name : {"tf32_sqrt", "f16_add", "e4m5_add", "e4m3_mulAdd", "i32_to_f16"}) {
    CHECK_FALSE(is_exhaustive(parse_test_function(name)));
  }
}

TEST_CASE("a seed gives the same cases with every compiler, another seed others") {
  CHECK(digest(1) == 8756929047465141659U);
  CHECK(digest(2) != digest(1));
}

TEST_CASE("operands stay within their types, and padding and missing operands are zero") {
  for (const std::string& name : some_of_each) {
    CAPTURE(name);
    const TestFunction function = parse_test_function(name);
    std::vector<TestOperands> cases = hard_cases(function, 3);
    for (std::uint64_t i = 0; i < 5000; ++i) cases.push_back(random_case(function, 3, i));
    TestOperands seen{};
    for (const TestOperands& x : cases) {
      for (std::size_t k = 0; k < 3; ++k) seen[k] |= x[k];
    }
    for (std::size_t k = 0; k < 3; ++k) {
      std::uint64_t may = 0;
      if (k < function.operands.size()) {
        const ValueType& type = function.operands[k];
        const bool tf32_operand = type.format == tf32;
        may = ~std::uint64_t{0} >> (64 - type.bits()) &
              (tf32_operand ? 0xFFFFE000 : ~std::uint64_t{0});
      }
      CHECK(seen[k] == may);  // every bit that may be set is set somewhere
    }
  }
}

TEST_CASE("a random case is a function of its seed and its index alone") {
  for (const std::string& name : some_of_each) {
    CAPTURE(name);
    const TestFunction function = parse_test_function(name);
    std::vector<TestOperands> forward, backward(100);
    for (std::uint64_t i = 0; i < 100; ++i) forward.push_back(random_case(function, 7, i));
    for (std::uint64_t i = 100; i-- > 0;) backward[i] = random_case(function, 7, i);
    CHECK(forward == backward);
    int other_seed = 0, next = 0;
    for (std::uint64_t i = 0; i + 1 < 100; ++i) {
      other_seed += random_case(function, 8, i) != forward[i] ? 1 : 0;
      next += forward[i + 1] != forward[i] ? 1 : 0;
    }
    CHECK(other_seed > 90);
    CHECK(next > 90);
  }
}

TEST_CASE("each lane of packed numbers has the cases of one number") {
  const auto lane = [](const std::vector<TestOperands>& packed, int i) {
    std::vector<TestOperands> out = packed;
    for (TestOperands& x : out) {
      for (std::uint64_t& bits : x) bits = bits >> (16 * i) & 0xFFFF;
    }
    return out;
  };
  const std::vector<TestOperands> one = cases_of("fma.rn.f16");
  const std::vector<TestOperands> two = cases_of("fma.rn.f16x2");
  CHECK(lane(two, 0) == one);
  CHECK(lane(two, 1) != one);
  const std::vector<TestOperands> high = lane(two, 1);
  CHECK(std::set<TestOperands>(high.begin(), high.end()) ==
        std::set<TestOperands>(one.begin(), one.end()));
  std::vector<TestOperands> random_one, random_two;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    random_one.push_back(random_case(parse_test_function("fma.rn.f16"), 1, i));
    random_two.push_back(random_case(parse_test_function("fma.rn.f16x2"), 1, i));
  }
  CHECK(lane(random_two, 0) == random_one);
  CHECK(lane(random_two, 1) != random_one);
}

TEST_CASE(
    "each operand of a conversion has the cases of one number, and random bits of every size") {
  const auto one = cases_of("f32_to_e2m1");
  const auto four = cases_of("cvt.rs.satfinite.e2m1x4.f32");
  std::set<std::uint64_t> numbers, rbits;
  for (const TestOperands& x : one) numbers.insert(x[0]);
  for (std::size_t k = 0; k < 4; ++k) {
    std::set<std::uint64_t> seen;
    for (const TestOperands& x : four) seen.insert(x[k]);
    CHECK(seen == numbers);
  }
  for (const TestOperands& x : four) rbits.insert(x[4]);
  CHECK(rbits.contains(0));
  CHECK(rbits.contains(0xFFFFFFFF));
  CHECK(rbits.size() > four.size() / 2);
}

TEST_CASE("random pairs often have near exponents, and often any") {
  const TestFunction function = parse_test_function("f32_add");
  long near = 0, far = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const TestOperands x = random_case(function, 1, i);
    const int distance =
        std::abs(static_cast<int>(x[0] >> 23 & 255) - static_cast<int>(x[1] >> 23 & 255));
    near += distance <= 26 ? 1 : 0;
    far += distance > 60 ? 1 : 0;
  }
  CHECK(near > 5000);  // uniform encodings would give 2000
  CHECK(far > 1000);
}

TEST_CASE("quiet and signaling NaNs stand in every place, beside numbers, zeros and infinities") {
  struct Ieee {
    std::string name;
    int fraction_bits;
    std::size_t operands;
  };
  for (const Ieee& row :
       {Ieee{"f16_add", 10, 2}, Ieee{"bf16_mul", 7, 2}, Ieee{"f32_div", 23, 2},
        Ieee{"f64_rem", 52, 2}, Ieee{"f32_sqrt", 23, 1}, Ieee{"f16_mulAdd", 10, 3},
        Ieee{"f64_mulAdd", 52, 3}, Ieee{"f32_roundToInt", 23, 1}, Ieee{"f32_le", 23, 2},
        Ieee{"f16_maximumNumber", 10, 2}, Ieee{"f32_to_f16", 23, 1}, Ieee{"f64_to_i32", 52, 1}}) {
    const std::string& name = row.name;
    CAPTURE(name);
    const TestFunction function = parse_test_function(name);
    const std::uint64_t quiet_bit = std::uint64_t{1} << (row.fraction_bits - 1);
    const std::uint64_t sign = std::uint64_t{1} << (function.operands[0].bits() - 1);
    const std::uint64_t infinity = (sign - 1) & ~(2 * quiet_bit - 1);
    for (std::size_t k = 0; k < row.operands; ++k) {
      CAPTURE(k);
      long quiet = 0, signaling = 0;
      for (const TestOperands& x : cases_of(name)) {
        const std::uint64_t magnitude = x[k] & ~sign;
        if (magnitude <= infinity) continue;
        ((magnitude & quiet_bit) != 0 ? quiet : signaling) += 1;
      }
      CHECK(quiet > 0);
      CHECK(signaling > 0);
    }
  }
}

TEST_CASE(
    "rounding to an integer is asked halves over even and odd numbers, and what lies beside") {
  const auto asked = [](auto&& holds) {
    return count("f32_roundToInt", [&](const TestOperands& x) { return holds(float_of(x[0])); });
  };
  const auto half = [](float x) { return std::fabs(x - std::trunc(x)) == 0.5F; };
  const auto odd = [](float x) { return std::fmod(std::trunc(x), 2.0F) != 0; };
  CHECK(asked([&](float x) { return half(x) && odd(x); }) > 10);
  CHECK(asked([&](float x) { return half(x) && !odd(x); }) > 10);
  CHECK(asked([&](float x) {
          return !half(x) && (half(std::nextafter(x, 0.0F)) || half(std::nextafter(x, 2 * x)));
        }) > 20);
  CHECK(asked([](float x) { return std::fabs(x) > 0 && std::fabs(x) < 0.5F; }) > 10);
  CHECK(asked([](float x) { return std::fabs(x) >= 0x1p23F && std::isfinite(x); }) > 10);
  CHECK(asked([](float x) { return x == 0 && std::signbit(x); }) > 0);
}

TEST_CASE("integer results are asked at the ends of their range, half beside them, and beyond") {
  struct Row {
    std::string name;
    double low, high;
  };
  for (const Row& row :
       {Row{"f64_to_i32", -0x1p31, 0x1p31 - 1}, Row{"f64_to_ui32", 0.0, 0x1p32 - 1},
        Row{"f64_to_i16", -0x1p15, 0x1p15 - 1}, Row{"f32_to_ui8", 0.0, 255.0}}) {
    const std::string& name = row.name;
    CAPTURE(name);
    const bool single = name.starts_with("f32");
    std::set<double> asked;
    for (const TestOperands& x : cases_of(name)) {
      asked.insert(single ? double{float_of(x[0])} : std::bit_cast<double>(x[0]));
    }
    for (const double step : {-0.5, 0.0, 0.5, 1.0}) {
      CAPTURE(step);
      CHECK(asked.contains(row.high + step));
      CHECK(asked.contains(row.low - step));
    }
  }
  std::set<float> asked;
  for (const TestOperands& x : cases_of("f32_to_i64")) asked.insert(float_of(x[0]));
  CHECK(asked.contains(0x1p63F));
  CHECK(asked.contains(-0x1p63F));
  CHECK(asked.contains(0x1.fffffep62F));
  CHECK(asked.contains(-0x1.000002p63F));
  CHECK(asked.contains(std::numeric_limits<float>::infinity()));
}

TEST_CASE("integers are asked at their ends and halfway between two numbers of the result") {
  struct Row {
    std::string name;
    int precision;
  };
  for (const Row& row : {Row{"i64_to_f64", 53}, Row{"i64_to_f32", 24}, Row{"i64_to_f16", 11}}) {
    const std::string& name = row.name;
    CAPTURE(name);
    long even = 0, odd = 0, beside = 0;
    bool lowest = false, highest = false;
    for (const TestOperands& operands : cases_of(name)) {
      const std::uint64_t x = operands[0];
      lowest |= x == std::uint64_t{1} << 63;
      highest |= x == ~std::uint64_t{0} >> 1;
      const std::uint64_t magnitude = x >> 63 != 0 ? std::uint64_t{0} - x : x;
      const int drop = static_cast<int>(std::bit_width(magnitude)) - row.precision;
      if (drop < 1) continue;
      const std::uint64_t rest = magnitude & ((std::uint64_t{1} << drop) - 1);
      const std::uint64_t half = std::uint64_t{1} << (drop - 1);
      if (rest == half) ((magnitude >> drop) % 2 != 0 ? odd : even) += 1;
      beside += rest == half - 1 || rest == half + 1 ? 1 : 0;
    }
    CHECK(even > 2);
    CHECK(odd > 2);
    CHECK(beside > 6);
    CHECK(lowest);
    CHECK(highest);
  }
}

TEST_CASE("conversions are asked midpoints, normal and subnormal, and the overflow's threshold") {
  const auto asked = [](auto&& holds) {
    return count("f32_to_f16", [&](const TestOperands& x) {
      const double magnitude = std::fabs(double{float_of(x[0])});
      return std::isfinite(magnitude) && holds(magnitude);
    });
  };
  const auto midpoint = [](double x) {
    if (x == 0 || x >= 65536) return false;
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
    return std::fmod(x, ulp) == ulp / 2;
  };
  CHECK(asked([&](double x) { return midpoint(x) && x >= 0x1p-14; }) > 10);
  CHECK(asked([&](double x) { return midpoint(x) && x < 0x1p-14; }) > 10);
  CHECK(asked([](double x) { return x >= 0x1p-14 - 0x1p-26 && x < 0x1p-14; }) > 0);
  CHECK(asked([](double x) { return x > 0 && x < 0x1p-25; }) > 0);
  CHECK(asked([](double x) { return x == 0x1p-25; }) > 0);
  CHECK(asked([](double x) { return x == 65504; }) > 0);
  CHECK(asked([](double x) { return x == 65520; }) > 0);
  CHECK(asked([](double x) { return x > 65504 && x < 65520; }) > 0);
  CHECK(asked([](double x) { return x > 65520; }) > 0);
}

TEST_CASE("comparisons are asked equals, neighbours, opposites and both zeros") {
  const auto asked = [](auto&& holds) {
    return count("f32_le",
                 [&](const TestOperands& x) { return holds(float_of(x[0]), float_of(x[1])); });
  };
  CHECK(asked([](float a, float b) { return a == b && a != 0; }) > 50);
  CHECK(asked([](float a, float b) { return b == std::nextafter(a, 2 * a) && a != b; }) > 20);
  CHECK(asked([](float a, float b) { return a == std::nextafter(b, 2 * b) && a != b; }) > 20);
  CHECK(asked([](float a, float b) { return a == -b && a != 0; }) > 50);
  CHECK(asked([](float a, float b) { return a == 0 && b == 0; }) == 4);
  CHECK(asked([](float a, float b) { return std::isunordered(a, b); }) > 100);
}

}  // namespace binade::hard_cases_test
