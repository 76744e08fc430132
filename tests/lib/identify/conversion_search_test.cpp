// SPDX-License-Identifier: Apache-2.0
//
// Which rules explain a converter's codes: converters that are made here by masks, integer
// arithmetic on bits and a table of e4m3's values, healthy ones and such that are wrong in a known
// way.
#include "lib/identify/conversion_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "lib/identify/conversion_text.h"

namespace binade::conversion_search_test {
namespace {

using Bits = std::uint64_t;
using Converter = std::function<Bits(Bits)>;

Bits cut(Bits x) { return x >> 16; }
Bits even(Bits x) { return (x + 0x7FFF + (x >> 16 & 1)) >> 16; }
Bits away(Bits x) { return (x + 0x8000) >> 16; }

float single(Bits x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x)); }
Bits widened(Bits bf16) { return bf16 << 16; }

/// The value of a code of e4m3 below NaN's, without sign.
double e4m3_value(Bits code) {
  const auto field = static_cast<int>(code >> 3);
  const auto fraction = static_cast<double>(code & 7);
  return field == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, field - 10);
}

/// Rounds to nearest among e4m3's values and 480, which is NaN's code or `beyond`.
Bits e4m3_of(double x, Bits beyond = 0x7F) {
  const Bits sign = std::signbit(x) ? 0x80 : 0;
  x = std::fabs(x);
  if (x >= 480) return sign | beyond;
  Bits low = 0;
  while (e4m3_value(low + 1) <= x) ++low;
  const double half = (e4m3_value(low) + e4m3_value(low + 1)) / 2;
  const bool up = x > half || (x == half && low % 2 == 1);
  const Bits code = up ? low + 1 : low;
  return sign | (code == 0x7F ? beyond : code);
}

/// Binary32 of both signs with exponents of a range; an eighth end in a one and zeros, and are ties
/// of bfloat16.
std::vector<Bits> numbers(std::size_t n, int low, int high) {
  std::mt19937 random(7);
  std::vector<Bits> out;
  for (std::size_t i = 0; i < n; ++i) {
    const Bits fraction = i % 8 == 0 ? (random() & 0x7F0000) | 0x8000 : random() & 0x7FFFFF;
    const auto range = static_cast<unsigned>(high - low + 1);
    const Bits exponent = static_cast<Bits>(127 + low) + random() % range;
    out.push_back((random() & 0x80000000) | exponent << 23 | fraction);
  }
  return out;
}

Converted given(const std::vector<Bits>& inputs, const Format& to, const Converter& by) {
  Converted out{.from = binary32, .to = to, .inputs = inputs, .shape = {inputs.size()}};
  for (const Bits x : inputs) out.codes.push_back(by(x));
  return out;
}

ConversionFinding found(const std::vector<Bits>& inputs, const Format& to, const Converter& by) {
  return identify_conversion(given(inputs, to, by));
}

std::string first_rule(const ConversionFinding& x) {
  return x.explaining.empty() ? "" : conversion_text(x.explaining[0]);
}

const DecidedAttribute& attribute(const ConversionFinding& x, const std::string& name) {
  const auto at = std::ranges::find(x.decided, name, &DecidedAttribute::name);
  REQUIRE(at != x.decided.end());
  return *at;
}

std::uint64_t excluding(const DecidedAttribute& x, const std::string& words) {
  const auto at = std::ranges::find(x.others, words, &ExcludedChoice::words);
  REQUIRE(at != x.others.end());
  return at->elements;
}

std::string hypotheses(const ConversionFinding& x) {
  std::string out;
  for (const ConversionHypothesis& h : x.hypotheses) out += h.words + "\n";
  return out;
}

bool holds_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the rounding of a converter is found, with how many inputs exclude the others") {
  const std::vector<Bits> inputs = numbers(5000, -20, 20);
  struct Row {
    Converter by;
    const char* rule;
  };
  for (const Row& row : {Row{cut, "toward_zero"}, {even, "ties_to_even"}, {away, "ties_to_away"}}) {
    const ConversionFinding x = found(inputs, bfloat16, row.by);
    CHECK(x.conclusion() == ConversionConclusion::unique);
    CHECK(first_rule(x) == std::string("bfloat16 ") + row.rule);
    const DecidedAttribute& rounding = attribute(x, "rounding");
    CHECK(rounding.value == row.rule);
    for (const Row& other :
         {Row{cut, "toward_zero"}, {even, "ties_to_even"}, {away, "ties_to_away"}}) {
      if (rounding.value == other.rule) continue;
      const auto different =
          std::ranges::count_if(inputs, [&](Bits bits) { return row.by(bits) != other.by(bits); });
      CHECK(excluding(rounding, other.rule) == static_cast<std::uint64_t>(different));
    }
    CHECK(attribute(x, "overflow").open == "no input overflows");
    CHECK(attribute(x, "subnormal operands").open == "no input is subnormal");
  }
}

TEST_CASE("a chain of formats is found, each step with its own rounding") {
  const std::vector<Bits> inputs = numbers(8000, -11, 8);
  const auto by_way_of = [&](const Converter& first) {
    return found(inputs, e4m3, [&](Bits x) { return e4m3_of(single(widened(first(x)))); });
  };
  CHECK(first_rule(by_way_of(cut)) == "bfloat16 toward_zero, then e4m3 ties_to_even");
  CHECK(first_rule(by_way_of(even)) == "bfloat16 ties_to_even, then e4m3 ties_to_even");
  CHECK(first_rule(by_way_of(away)) == "bfloat16 ties_to_away, then e4m3 ties_to_even");
  CHECK(by_way_of(cut).conclusion() == ConversionConclusion::unique);
  const ConversionFinding direct = found(inputs, e4m3, [](Bits x) { return e4m3_of(single(x)); });
  CHECK(first_rule(direct) == "e4m3 ties_to_even");
  // Rounded to odd first, a number comes to the same: that is no other rule.
  for (const Conversion& other : direct.explaining) CHECK(other.steps.size() == 1);
}

TEST_CASE("a chain of two formats in between is found") {
  std::mt19937_64 random(3);
  Converted x{.from = binary64, .to = e4m3};
  for (int i = 0; i < 4000; ++i) {
    // Beside ties of bfloat16 whose neighbours are ties of e4m3; binary32 rounds to the former.
    const auto odd = static_cast<double>(2 * (random() % 8) + 17);
    const double beside = static_cast<double>(random() % 3) - 1;
    const double sign = i % 4 < 2 ? 1 : -1;
    const double tie = sign * std::ldexp(16 * odd + (i % 2 == 0 ? 1 : -1), -7);
    const double off = std::ldexp(beside, random() % 2 == 0 ? -30 : -12);
    x.inputs.push_back(std::bit_cast<Bits>(tie + off));
    const auto f32 = std::bit_cast<std::uint32_t>(static_cast<float>(tie + off));
    x.codes.push_back(e4m3_of(single(widened(away(f32)))));
  }
  x.shape = {x.inputs.size()};
  const ConversionFinding f = identify_conversion(x);
  REQUIRE_FALSE(f.explaining.empty());
  CHECK(first_rule(f) ==
        "binary32 ties_to_even, then bfloat16 ties_to_away, then e4m3 ties_to_even");
}

TEST_CASE("overflow, flushing and the sign of zero are told") {
  const std::vector<Bits> wide = numbers(2500, -14, 12);
  const auto to_largest = found(wide, e4m3, [](Bits x) { return e4m3_of(single(x), 0x7E); });
  CHECK(attribute(to_largest, "overflow").value == "to the largest number");
  const auto to_nan = found(wide, e4m3, [](Bits x) { return e4m3_of(single(x)); });
  CHECK(attribute(to_nan, "overflow").value == "to NaN with the number's sign");
  const auto positive_nan = found(wide, e4m3, [](Bits x) {
    const Bits code = e4m3_of(single(x));
    return code == 0xFF ? 0x7F : code;
  });
  CHECK(attribute(positive_nan, "overflow").value == "to positive NaN");
  const auto flushed = found(wide, e4m3, [](Bits x) {
    const Bits code = e4m3_of(single(x), 0x7E);
    return (code & 0x78) == 0 ? code & 0x80 : code;
  });
  CHECK(attribute(flushed, "subnormal results").value ==
        "flushed to zero where their code is subnormal");
  const auto positive_zero = found(wide, e4m3, [](Bits x) {
    const Bits code = e4m3_of(single(x), 0x7E);
    return code == 0x80 ? 0 : code;
  });
  CHECK(attribute(positive_zero, "-0").value == "written as +0");
  // A truncating converter whose overflow is infinity, which IEEE 754 does not do.
  const std::vector<Bits> huge = numbers(2000, 10, 20);
  const auto to_infinity = found(huge, binary16, [](Bits x) {
    const Bits sign = x >> 16 & 0x8000;
    const auto e = static_cast<int>(x >> 23 & 0xFF) - 127;
    if (e > 15) return sign | 0x7C00;
    return sign | static_cast<Bits>(e + 15) << 10 | (x & 0x7FFFFF) >> 13;
  });
  CHECK(first_rule(to_infinity) == "binary16 toward_zero, overflow to infinity");
  const std::vector<Bits> small = numbers(2000, -127, -120);
  const auto daz = found(small, bfloat16,
                         [](Bits x) { return even((x & 0x7F800000) == 0 ? x & 0x80000000 : x); });
  CHECK(attribute(daz, "subnormal operands").value == "taken for zeros");
  CHECK(attribute(daz, "subnormal operands").others[0].elements > 0);
}

TEST_CASE("NaNs and infinities are decided by rules of their own") {
  const std::vector<Bits> nans{0x7FC00000, 0x7F800001, 0xFF812345, 0x7FFFFFFF, 0x7F80FFFF};
  const auto rules = [&](const Converter& by) { return found(nans, bfloat16, by).nans.rules; };
  const auto has = [](const std::vector<std::string>& list, const std::string& part) {
    return std::ranges::any_of(list, [&](const auto& x) { return holds_text(x, part); });
  };
  CHECK(rules([](Bits) { return 0x7FFF; }) == std::vector<std::string>{"nvidia"});
  CHECK(rules([](Bits) { return 0x7FC0; }) == std::vector<std::string>{"quiet"});
  CHECK(has(rules([](Bits x) { return x >> 16 | 0x40; }), "propagate"));
  CHECK(has(rules(cut), "cut off like a number"));
  CHECK(has(rules([](Bits x) { return even(x) & 0xFFFF; }), "rounded like a number, ties_to_even"));
  CHECK(has(rules([](Bits) { return 0x1234; }), "the code 1234"));
  CHECK(rules([](Bits x) { return x & 0xFF; }).empty());
  const auto infinities = [](const Format& to, Bits positive, Bits negative) {
    return found({0x7F800000, 0xFF800000}, to,
                 [=](Bits x) { return x == 0x7F800000 ? positive : negative; })
        .infinities.rules;
  };
  CHECK(has(infinities(e4m3, 0x7E, 0xFE), "the largest number"));
  CHECK(has(infinities(e4m3, 0x7F, 0xFF), "with the sign"));
  CHECK(has(infinities(bfloat16, 0x7F80, 0xFF80), "infinity"));
  CHECK(has(infinities(bfloat16, 0x1111, 0x2222), "1111"));
  // NaNs alone decide nothing about numbers, and nothing is wrong with them.
  const ConversionFinding alone = found(nans, bfloat16, [](Bits) { return 0x7FC0; });
  CHECK(alone.finite == 0);
  CHECK(alone.conclusion() == ConversionConclusion::several);
}

TEST_CASE("inputs that decide nothing leave several rules") {
  const ConversionFinding zeros = found({0, 0, 0x80000000}, e4m3, [](Bits x) { return x >> 24; });
  CHECK(zeros.conclusion() == ConversionConclusion::several);
  CHECK(zeros.explaining.size() > 1);
  CHECK(holds_text(attribute(zeros, "rounding").open, "every input is a number"));
  const ConversionFinding one = found({0x3F800000}, bfloat16, cut);
  CHECK(one.conclusion() == ConversionConclusion::several);
}

TEST_CASE("where nothing fits, the nearest rule is told with the first elements that differ") {
  const std::vector<Bits> inputs = numbers(6000, -11, 8);
  Converted x = given(inputs, e4m3, [](Bits bits) { return e4m3_of(single(widened(cut(bits)))); });
  for (const std::size_t i : {std::size_t{17}, std::size_t{4001}}) x.codes[i] ^= 0x11;
  const ConversionFinding f = identify_conversion(x);
  CHECK(f.conclusion() == ConversionConclusion::none);
  REQUIRE(f.nearest.has_value());
  CHECK(conversion_text(*f.nearest) == "bfloat16 toward_zero, then e4m3 ties_to_even");
  CHECK(f.equal == 5998);
  REQUIRE(f.first.size() == 2);
  CHECK(f.first[0].element == 17);
  CHECK(f.first[0].found == x.codes[17]);
  CHECK(f.first[0].expected == (x.codes[17] ^ 0x11));
  CHECK(f.first[1].element == 4001);
  CHECK(f.hypotheses.empty());
  x.shape = {60, 100};
  CHECK(holds_text(finding_text(f, x, 5), "element (40, 1): "));
}

TEST_CASE("suspicions are told with their share") {
  const std::vector<Bits> inputs = numbers(600, -5, 4);
  const auto told = [&](const Format& to, const Converter& by) {
    const ConversionFinding f = found(inputs, to, by);
    CHECK(f.conclusion() == ConversionConclusion::none);
    return hypotheses(f);
  };
  CHECK(told(e4m3, [](Bits x) {
          return e4m3_of(8 * single(x), 0x7E);
        }).starts_with("codes of the inputs times 2^3, ties_to_even\n"));
  CHECK(told(bfloat16, [](Bits x) {
          return (even(x) & 0xFF) << 8 | even(x) >> 8;
        }).starts_with("codes whose bytes are swapped, ties_to_even\n"));
  CHECK(told(bfloat16, [](Bits x) {
          return even(x) ^ 0x8000;
        }).starts_with("codes whose sign is the opposite, ties_to_even\n"));
  CHECK(holds_text(told(bfloat16, [](Bits x) { return even(x) & 0x7FFF; }), "without their signs"));
  CHECK(
      holds_text(told(e5m2, [](Bits x) { return e4m3_of(single(x)); }), "in e4m3 instead of e5m2"));
  std::mt19937 random(5);
  const std::string stochastic =
      told(bfloat16, [&](Bits x) { return (x + random() % 0x10000) >> 16; });
  CHECK(holds_text(stochastic, "each code is one of the two neighbours"));
  Converted swapped = given(inputs, bfloat16, even);
  for (std::size_t i = 0; i < inputs.size(); i += 2) {
    std::swap(swapped.codes[i], swapped.codes[i + 1]);
  }
  const std::string pairs = hypotheses(identify_conversion(swapped));
  CHECK(pairs.starts_with("codes of the other element of each pair\n"));
  CHECK_FALSE(holds_text(pairs, "of the element before"));
  Converted reversed = given(inputs, bfloat16, even);
  for (std::size_t i = 0; i < inputs.size() / 4 * 4; i += 4) {
    std::reverse(reversed.codes.begin() + static_cast<std::ptrdiff_t>(i),
                 reversed.codes.begin() + static_cast<std::ptrdiff_t>(i + 4));
  }
  CHECK(hypotheses(identify_conversion(reversed))
            .starts_with("codes of each 4 elements in the reverse order\n"));
  Converted moved = given(inputs, bfloat16, even);
  std::ranges::rotate(moved.codes, moved.codes.begin() + 1);
  CHECK(holds_text(hypotheses(identify_conversion(moved)), "of the element after"));
}

TEST_CASE("equal inputs of different codes are told") {
  const std::vector<Bits> inputs{0x3F8C0000, 0x3F8C0000, 0x40000001, 0x3F8C0000};
  Converted x{.from = binary32, .to = e4m3, .inputs = inputs, .codes = {0x39, 0x38, 0x40, 0x39}};
  x.shape = {4};
  CHECK(holds_text(hypotheses(identify_conversion(x)),
                   "1 inputs have several codes, so that something else than the input decides "
                   "(random bits, a scale of its own for each block): 1.09375 is 38 at element 1 "
                   "and 39 at element 0"));
}

}  // namespace binade::conversion_search_test
