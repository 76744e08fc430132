// SPDX-License-Identifier: Apache-2.0
//
// The text that explains a rounding agrees with its bits and flags, for all numbers of every small
// format.
#include "lib/explain/rounding_words.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lib/number/encoding_text.h"
#include "lib/number/number_text.h"

namespace rounding_words_test {
namespace {

using namespace binade;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Literals at every number of a format, at the quarters between them, and beyond its ends.
std::vector<std::string> quarters(const Format& f) {
  std::vector<std::string> out;
  const int quarter = f.emin() - f.fraction_bits() - 2;
  for (int e = f.emin(); e <= f.emax() + 1;
       e += 1 + (e > f.emin() + 2 && e < f.emax() - 3 ? 7 : 0)) {
    const int ulp = quarter + e - f.emin();
    for (int m = e == f.emin() ? 0 : 4 << f.fraction_bits(); m < 8 << f.fraction_bits(); ++m) {
      for (const char* sign : {"", "-"}) {
        out.push_back(sign + std::to_string(m) + "*2^" + std::to_string(ulp));
      }
    }
  }
  return out;
}

struct Counts {
  int exact = 0, ties = 0, overflow = 0, flushed = 0, up = 0, away = 0;
};

void check_story(const std::string& text, const NamedOrCustom& format, const Attributes& attributes,
                 Counts& counts) {
  constexpr std::uint32_t word = 1;
  const Literal literal = parse_literal(text);
  const RoundedLiteral out = round_literal(literal, format, attributes, word);
  INFO(text, " to ", format.name, " ", rounding_name(attributes.rounding), ": ", out.words);
  const Format& f = format.format;
  const bool overflow = (out.flags & Flag::overflow) != 0;
  const bool inexact = (out.flags & Flag::inexact) != 0;
  CHECK(contains(out.words, "exact") == (!inexact && !contains(out.words, "has no -0")));
  CHECK(contains(out.words, " finite ") == overflow);
  if (!overflow) CHECK_FALSE(contains(out.words, "saturated"));
  if (!overflow && inexact && literal.kind == Kind::finite && out.rounded_away) {
    const bool flushed = contains(out.words, "FTZ");
    const bool bottom = contains(out.words, "down to zero");
    const bool tie = contains(out.words, "a tie between");
    const bool away = contains(out.words, "rounded away");
    const bool up = contains(out.words, "rounded up by") || contains(out.words, "rounded down by");
    CHECK(int{flushed} + int{bottom} + int{tie} + int{away} + int{up} == 1);
    const bool grew = decimal_of(finite_magnitude(out.bits, f)) > literal.magnitude;
    if (away) CHECK_FALSE(grew);
    if (up) CHECK(grew);
    if (tie) CHECK(*out.rounded_away == decimal_of(Dyadic{1, out.placement->lower.exponent - 1}));
    if (up || away) {  // the amount in the words is the difference
      CHECK(contains(out.words, " " + concise_text(*out.rounded_away) + " ("));
    }
    counts.ties += tie ? 1 : 0;
    counts.flushed += flushed ? 1 : 0;
    counts.up += up ? 1 : 0;
    counts.away += away ? 1 : 0;
  }
  counts.exact += inexact ? 0 : 1;
  counts.overflow += overflow ? 1 : 0;
}

}  // namespace

TEST_CASE(
    "words, bits and flags agree at every quarter ulp of the 4 to 8-bit formats, for all "
    "roundings") {
  Counts counts;
  for (const NamedFormat& row : formats) {
    if (row.format.bits() > 8) continue;
    const NamedOrCustom format{std::string(row.name), row.format};
    for (const NamedRounding& rounding : roundings) {
      for (const bool finite : {false, true}) {
        const Attributes attributes{.rounding = rounding.rounding,
                                    .saturation = finite ? Saturation::finite : Saturation::none,
                                    .flush_results = finite,
                                    .random_bits = 2};
        for (const std::string& text : quarters(row.format)) {
          check_story(text, format, attributes, counts);
        }
      }
    }
  }
  CHECK(counts.exact > 5000);
  CHECK(counts.ties > 1000);
  CHECK(counts.overflow > 5000);
  CHECK(counts.flushed > 1000);
  CHECK(counts.up > 5000);
  CHECK(counts.away > 5000);
}

TEST_CASE("where overflow is said to begin, it begins") {
  for (const NamedFormat& row : formats) {
    const Format& f = row.format;
    const Dyadic tie = overflow_tie(f);
    CAPTURE(row.name);
    CHECK_FALSE(overflows(largest_finite(f), f));
    CHECK(overflows({2 * tie.significand + 1, tie.exponent - 1}, f));
    CHECK_FALSE(overflows({2 * tie.significand - 1, tie.exponent - 1}, f));
  }
  CHECK(overflows(overflow_tie(binary16), binary16));
  CHECK_FALSE(overflows(overflow_tie(e4m3), e4m3));
}
}  // namespace rounding_words_test
