// SPDX-License-Identifier: Apache-2.0
//
// The figures derived from a summary: squared errors, shares of the norm, SQNR, headroom, and the
// interval of loss scales, against the oracle and against trying every scale.
#include "lib/range/fate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "emulate/project.h"
#include "lib/format/format_spec.h"
#include "lib/text/error.h"
#include "tests/lib/range/exact.h"
#include "tests/lib/range/values.h"

namespace binade::test::fate_test {
namespace {

constexpr int unit = ExactSum::unit_exponent;

/// Sum of (|x| - rounded(x·2^k)/2^k)², overflow counted as saturation, in units of 2^-2304.
template <class T>
Integer squared_error(const std::vector<T>& values, int k, const Grid& g) {
  constexpr int lowest = -1150;  // below every bit of a double
  Integer out = 0;
  for (const T value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    const Number x = number_of(value);
    const Rounded y = round_to(x, k, g);
    const bool over = y.outcome == Outcome::overflow;
    const Integer have = in_units(over ? g.max_significand : y.r,
                                  (over ? g.emax - g.precision + 1 : y.quantum) - k, lowest);
    const Integer error = in_units(x.n, x.e, lowest) - have;
    out += error * error;
  }
  return in_units(out, 2 * lowest, unit);
}

TEST_CASE("squared errors are exact in every format and at scales from total loss to overflow") {
  std::vector<float> values = edge_values<float>(-34, 20, 2);
  append(values, random_values<float>(1500, -40, 20, 1));
  append(values, special_values<float>());
  for (const auto& batch :
       {values, random_values<float>(300, -10, 5, 9), edge_values<float>(-149, 127, 23)}) {
    for (std::size_t f = 0; f < grids.size(); ++f) {
      std::vector<ErrorColumn> columns;
      for (const int k : {-126, -40, -12, -1, 0, 1, 5, 8, 15, 24, 40, 90, 127}) {
        columns.push_back({report_formats[f].format, k});
      }
      const RangeSummary s = summary_of(batch, columns);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        INFO(name_of(grids[f]) << " at 2^" << columns[c].scale_log2);
        CHECK(integer_of(total_squared_error(s, c)) ==
              squared_error(batch, columns[c].scale_log2, grids[f]));
      }
    }
  }
}

TEST_CASE("squared errors of doubles are exact, far out of range too") {
  std::vector<double> values = edge_values<double>(-34, 20, 3);
  append(values, random_values<double>(300, -1074, 1000, 2));
  append(values, special_values<double>());
  std::vector<ErrorColumn> columns;
  for (std::size_t f = 0; f < grids.size(); ++f) {
    for (const int k : {0, 24, -60}) columns.push_back({report_formats[f].format, k});
  }
  const RangeSummary s = summary_of(values, columns);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    INFO(name_of(grids[c / 3]) << " at 2^" << columns[c].scale_log2);
    CHECK(integer_of(total_squared_error(s, c)) ==
          squared_error(values, columns[c].scale_log2, grids[c / 3]));
  }
}

TEST_CASE("losses are the correctly rounded shares of the exact sums") {
  const std::vector<float> values = random_values<float>(2000, -40, 20, 3);
  const RangeSummary s = summary_of(values);
  int lossy = 0;
  int clipping = 0;
  for (std::size_t f = 0; f < grids.size(); ++f) {
    for (int k = -20; k <= 30; ++k) {
      Integer total = 0;
      Integer total_squares = 0;
      Integer lost = 0;
      Integer lost_squares = 0;
      Integer clipped = 0;
      constexpr int lowest = -200;
      const Integer max =
          in_units(grids[f].max_significand, grids[f].emax - grids[f].precision + 1 - k, lowest);
      for (const float value : values) {
        const Number n = number_of(value);
        const Integer x = in_units(n.n, n.e, lowest);
        const Outcome outcome = round_to(n, k, grids[f]).outcome;
        total += x;
        total_squares += x * x;
        if (outcome == Outcome::to_zero) lost += x;
        if (outcome == Outcome::to_zero) lost_squares += x * x;
        if (outcome == Outcome::overflow) clipped += x - max;
      }
      const std::optional<Losses> have = losses(s, report_formats[f].format, k);
      REQUIRE(have);
      INFO(name_of(grids[f]) << " at 2^" << k);
      CHECK(have->l1 == double_of(quotient(lost, total)));
      ScaledDouble l2;
      l2.significand = std::frexp(have->l2, &l2.exponent);
      CHECK(is_root(l2, lost_squares, total_squares));
      CHECK(have->clipped_l1 == double_of(quotient(clipped, total)));
      lossy += lost > 0 && lost < total ? 1 : 0;
      clipping += clipped > 0 ? 1 : 0;
    }
  }
  CHECK(lossy > 50);
  CHECK(clipping > 50);
}

TEST_CASE("SQNR in decibels follows from the exact sums; exact values have none") {
  const std::vector<double> values{1.0, 3.0, 1 + 0x1p-12};
  const RangeSummary s = summary_of(values, {{binary16, 0}, {tf32, 0}, {bfloat16, -5}});
  const double squares = 1 + 9 + (1 + 0x1p-12) * (1 + 0x1p-12);
  CHECK(*sqnr_db(s, 0) == doctest::Approx(10 * std::log10(squares / 0x1p-24)).epsilon(1e-14));
  CHECK(*sqnr_db(s, 0) == *sqnr_db(s, 1));
  CHECK(*sqnr_db(s, 0) == *sqnr_db(s, 2));
  CHECK_FALSE(sqnr_db(summary_of(std::vector<double>{1, 0, -3}, {{binary16, 0}}), 0));
  CHECK_FALSE(sqnr_db(summary_of(std::vector<double>{0, NAN}, {{binary16, 0}}), 0));
  // All lost: signal and noise are equal.
  CHECK(*sqnr_db(summary_of(std::vector<double>{0x1p-40, 0x1p-41}, {{binary16, 0}}), 0) == 0);
  // Saturated: 2^16 becomes 65504.
  CHECK(*sqnr_db(summary_of(std::vector<double>{0x1p16}, {{binary16, 0}}), 0) ==
        doctest::Approx(20 * std::log10(65536.0 / 32)).epsilon(1e-14));
  // Equal numbers of any size: the logarithm is taken of the quotient, which a double need not
  // hold.
  CHECK(*sqnr_db(summary_of(std::vector<double>{0x1p1000, 0x1.001p-1074}, {{bfloat16, -1000}}), 0) >
        0);
}

TEST_CASE("the cuts of the report formats are the segments of the schema") {
  constexpr std::array<Cuts, 5> want{{{7, 8}, {5, 6}, {7, 8}, {2, 4}, {4, 3}}};
  for (std::size_t f = 0; f < want.size(); ++f) {
    CHECK(cuts_of(report_formats[f].format).normal == want[f].normal);
    CHECK(cuts_of(report_formats[f].format).overflow == want[f].overflow);
  }
}

/// All that is derived for a format; each throws what fates() throws.
void refused(const Format& f, const char* message) {
  const RangeSummary s = summary_of(std::vector<double>{1, 3});
  CHECK_THROWS_WITH_AS(cuts_of(f), message, Error);
  CHECK_THROWS_WITH_AS(fates(s, f, 0), message, Error);
  CHECK_THROWS_WITH_AS(losses(s, f, 0), message, Error);
  CHECK_THROWS_WITH_AS(masses(s, f, 0), message, Error);
  CHECK_THROWS_WITH_AS(headroom(s, f), message, Error);
  CHECK_THROWS_WITH_AS(scale_interval(s, f, 1, 1e-3), message, Error);
  CHECK_THROWS_WITH_AS(interval_of(s, f, 1, 0), message, Error);
  CHECK_THROWS_WITH_AS(scale_interval(summary_of(std::vector<double>{}), f, 1, 1e-3), message,
                       Error);
}

TEST_CASE("formats whose fates change within a segment are refused, whatever is asked") {
  const std::string why =
      ": a summary does not keep its values apart where their fate changes; give binary16, "
      "bfloat16, tf32, e5m2 or e4m3, or count with quantize()";
  for (const Format& f : {binary32, binary64, e4m3fnuz, e2m3, e2m1, e8m0}) {
    refused(f, (std::string(format_name(f)) + why).c_str());
  }
  refused({5, 4, 15, Specials::ieee, true, false}, ("ue5m3" + why).c_str());
  refused({3, 5, 3}, ("e3m4" + why).c_str());
  refused({4, 4, 7, Specials::ieee}, ("e4m3:specials=ieee" + why).c_str());
  refused({}, ("an invalid format" + why).c_str());
  refused({11, 3, 16384}, ("e11m2:bias=16384" + why).c_str());
}

/// Counts of values by rounding them.
Fates counted(const std::vector<double>& values, const Format& f) {
  Fates out;
  for (const double x : values) {
    const Projected y = convert(bits_of(x), binary64, f);
    out.overflow += (y.flags & Flag::overflow) != 0 ? 1 : 0;
    const Exact r = decode(y.bits, f);
    if (r.kind == Kind::zero) out.to_zero += 1;
    if (r.kind == Kind::finite && is_subnormal(r, f)) out.subnormal += 1;
  }
  return out;
}

TEST_CASE("other formats with the same cuts have the fates that rounding gives") {
  constexpr std::array<Format, 5> others{{e5m2fnuz,
                                          e3m2,
                                          {5, 8, 15},
                                          {4, 4, 8, Specials::nan_only},
                                          {4, 4, 7, Specials::nan_only, true, false}}};
  for (const Format& f : others) {
    std::vector<double> values;
    for (int e = f.emin() - f.precision - 2; e <= f.emax() + 1; ++e) {
      for (int m = 0; m < 1 << 13; m += 1) values.push_back(std::ldexp(1 + m * 0x1p-13, e));
    }
    const Fates have = fates(summary_of(values), f, 0), want = counted(values, f);
    INFO(spec_of(f));
    CHECK(have.to_zero == want.to_zero);
    CHECK(have.subnormal == want.subnormal);
    CHECK(have.overflow == want.overflow);
  }
}

TEST_CASE("scales, headrooms, targets and columns that there are not are refused") {
  const RangeSummary s = summary_of(std::vector<double>{1, 3});
  for (const int log2 :
       {-1221, 1221, 3000, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    const std::string range = " " + std::to_string(log2) + ": give an integer from -1220 to 1220";
    CHECK_THROWS_WITH_AS(fates(s, binary16, log2), ("scale_log2" + range).c_str(), Error);
    CHECK_THROWS_WITH_AS(losses(s, binary16, log2), ("scale_log2" + range).c_str(), Error);
    CHECK_THROWS_WITH_AS(masses(s, binary16, log2), ("scale_log2" + range).c_str(), Error);
    CHECK_THROWS_WITH_AS(scale_interval(s, binary16, log2, 0), ("headroom" + range).c_str(), Error);
    CHECK_THROWS_WITH_AS(interval_of(s, binary16, log2, 0), ("headroom" + range).c_str(), Error);
  }
  const RangeSummary ends = summary_of(std::vector<double>{0x1p-1074, 0x1.fp1023});
  for (const NamedFormat& row : report_formats) {
    CHECK(losses(ends, row.format, lowest_fate_log2)->l1 == 1);
    CHECK(losses(ends, row.format, highest_fate_log2)->clipped_l1 > 0.9);
  }
  for (const double target : {std::nan(""), -1.0, 1.5, HUGE_VAL}) {
    CHECK_THROWS_WITH_AS(scale_interval(s, binary16, 1, target),
                         "target_loss: not a share; give a number from 0 to 1", Error);
  }
  CHECK_THROWS_WITH_AS(
      sqnr_db(s, 0),
      "column 0: the summary has squared errors of 0 columns; count the values with this one",
      Error);
  CHECK_THROWS_WITH_AS(
      total_squared_error(summary_of(std::vector<double>{1}, {{binary16, 0}}), 5),
      "column 5: the summary has squared errors of 1 columns; count the values with this one",
      Error);
}

TEST_CASE("headroom is how often the largest value can be doubled before it overflows") {
  const auto of = [](double x, const Format& f) {
    return headroom(summary_of(std::vector<double>{x}), f);
  };
  CHECK(of(1, binary16) == 15);
  CHECK(of(65519, binary16) == 0);
  CHECK(of(65520, binary16) == -1);
  CHECK(of(1 - 0x1p-12, binary16) == 15);  // times 2^16 it is 65520, the tie that overflows
  CHECK(of(1 - 0x1p-11, binary16) == 16);
  CHECK(of(464, e4m3) == 0);
  CHECK(of(std::nextafter(464, 500), e4m3) == -1);
  CHECK(of(-57344, e5m2) == 0);
  CHECK(of(0x1p-1074, bfloat16) == 1201);
  CHECK(headroom(summary_of(std::vector<double>{0x1p-20, -2, INFINITY, 0, 1}), binary16) == 14);
  CHECK_FALSE(of(0, binary16));
  CHECK_FALSE(of(INFINITY, binary16));
  // By trying.
  for (std::size_t f = 0; f < grids.size(); ++f) {
    for (const double m : cuts) {
      for (const double x : {m, std::nextafter(m, 0.0), std::nextafter(m, 3.0)}) {
        int k = 0;
        while (round_to(number_of(x), k, grids[f]).outcome != Outcome::overflow) ++k;
        INFO(name_of(grids[f]) << " " << x);
        CHECK(of(x, report_formats[f].format) == k - 1);
      }
    }
  }
}

/// The interval found by trying every scale of a float32.
struct Tried {
  std::optional<int> min_log2;  ///< empty if every scale loses more than the target
  std::optional<int> max_log2;  ///< empty if every scale overflows at the headroom
};

template <class T>
Tried try_scales(const std::vector<T>& values, const Grid& g, int headroom_log2, double target) {
  constexpr int lowest = -1150;
  std::vector<Number> numbers;
  std::vector<Integer> squares;
  Integer total = 0;
  for (const T x : values) {
    if (!std::isfinite(x) || x == 0) continue;
    numbers.push_back(number_of(x));
    const Integer n = in_units(numbers.back().n, numbers.back().e, lowest);
    squares.emplace_back(n * n);
    total += squares.back();
  }
  Tried out;
  const Number share = number_of(target);
  const Integer most = total * share.n * share.n;  // of lost squares, in units of 2^(2 share.e)
  for (int k = -126; k <= 127; ++k) {
    Integer lost = 0;
    bool overflows = false;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (round_to(numbers[i], k, g).outcome == Outcome::to_zero) lost += squares[i];
      overflows =
          overflows || round_to(numbers[i], k + headroom_log2, g).outcome == Outcome::overflow;
    }
    if (!out.min_log2 && lost << static_cast<unsigned>(-2 * share.e) <= most) out.min_log2 = k;
    if (!overflows) out.max_log2 = k;
  }
  return out;
}

template <class T>
void check_interval(const std::vector<T>& values, int& empty) {
  const RangeSummary s = summary_of(values);
  for (std::size_t f = 0; f < grids.size(); ++f) {
    for (const double target : {0.0, 1e-6, 1e-3, 0.3, 0.5}) {
      for (const int room : {0, 1, 5}) {
        const Tried want = try_scales(values, grids[f], room, target);
        const auto have = scale_interval(s, report_formats[f].format, room, target);
        REQUIRE(have);
        INFO(name_of(grids[f]) << ", target " << target << ", headroom " << room);
        if (want.min_log2 && want.max_log2) {
          CHECK(have->min_log2 == *want.min_log2);
          CHECK(have->max_log2 == *want.max_log2);
          empty += have->empty() ? 1 : 0;
        } else {
          CHECK(have->empty());
        }
      }
    }
  }
}

TEST_CASE("the scale interval is what trying every scale finds") {
  int empty = 0;
  std::mt19937_64 random(6);
  for (int round = 0; round < 12; ++round) {
    const int first = static_cast<int>(random() % 80) - 70;
    const int width = static_cast<int>(random() % 45);
    check_interval(random_values<float>(1 + random() % 30, first, first + width, random()), empty);
  }
  check_interval(edge_values<float>(-30, -22, 4), empty);
  check_interval(random_values<float>(300, -149, 127, 5),
                 empty);                           // most are far too small to matter
  std::vector<float> many_below(2000, -0x1p-11F);  // that together do
  many_below.push_back(1);
  check_interval(many_below, empty);
  CHECK(empty > 0);
}

TEST_CASE("the interval of powers of two, where ties decide, is what trying finds") {
  int empty = 0;
  check_interval(std::vector<float>{1, 1, 1, 1}, empty);
  check_interval(std::vector<float>{0x1p-30F, 0x1p-31F, 0x1p-33F}, empty);
  check_interval(std::vector<float>{0x1p-149F}, empty);
  check_interval(std::vector<float>{0x1p127F, 0x1p126F}, empty);
  // Lost squares are exactly a quarter of the total: a loss of 0.5 is within a target of 0.5.
  check_interval(std::vector<float>{1, 1, 1, 0x1p-30F, 1}, empty);
  check_interval(std::vector<double>{0x1p-20, 0x1.8p-20, 0x1.8p-20, 0x1p-20, 0x1p-20, 0x1p-19},
                 empty);
}

TEST_CASE("values beyond a float32 have the scales of a float32, too") {
  int empty = 0;
  check_interval(std::vector<double>{0x1p-1074}, empty);
  check_interval(std::vector<double>{1e-300, 3e-300}, empty);
  check_interval(std::vector<double>{0x1p1000}, empty);
  check_interval(std::vector<double>{0x1p-140}, empty);
  check_interval(std::vector<double>{0x1p130}, empty);
  check_interval(std::vector<double>{1e30, 1e-60}, empty);
  const auto of = [](const std::vector<double>& values) {
    return *scale_interval(summary_of(values), binary16, 1, 1e-3);
  };
  CHECK(of({1e-70}).min_log2 == 208);  // how far is seen where none serves
  CHECK(of({1e-70}).max_log2 == 127);
  CHECK(of({0x1p200}).min_log2 == -126);
  CHECK(of({0x1p200}).max_log2 == -186);
}

TEST_CASE("what is lost of values that are far apart is a number of its own") {
  const auto at_one = [](const std::vector<double>& values, const Format& format) {
    return *losses(summary_of(values), format, 0);
  };
  const Losses far = at_one({1e100, 1e-70}, binary16);
  CHECK(std::abs(far.l2 / 1e-170 - 1) < 1e-15);
  CHECK(std::abs(far.l1 / 1e-170 - 1) < 1e-15);
  CHECK(far.clipped_l1 == 1 - 0x1p-53);  // 65504 is kept of 1e100
  const Losses farthest = at_one({0x1.fffffffffffffp1023, 0x1p-1074}, bfloat16);
  CHECK(farthest.l2 == 0x1p-1074);  // 2^-2098, which is not nothing
  CHECK(farthest.l1 == 0x1p-1074);
  CHECK(at_one({1e300, 1e-300}, bfloat16).l2 > 0);
  CHECK(at_one({1e-300, 3e-300}, bfloat16).l2 == 1);
  CHECK(at_one({1e300, 3e300}, bfloat16).l2 == 0);
}

TEST_CASE(
    "the first value that becomes zero or overflows is a loss, and the one beside it is none") {
  const auto one = [](double x) {
    return *losses(summary_of(std::vector<double>{x}), binary16, 0);
  };
  CHECK(one(0x1p-25).l1 == 1);
  CHECK(one(std::nextafter(0x1p-25, 1)).l1 == 0);
  CHECK(one(65520).clipped_l1 == 16.0 / 65520);
  CHECK(one(std::nextafter(65520, 0)).clipped_l1 == 0);
}

TEST_CASE("a target of 0 is lossless, however small the loss") {
  for (const double small : {1e-30, 1e-25}) {
    const RangeSummary s = summary_of(std::vector<double>{1e-5, small});
    const auto lowest = scale_interval(s, binary16, 0, 0)->min_log2;
    CHECK(fates(s, binary16, lowest).to_zero == 0);
    CHECK(fates(s, binary16, lowest - 1).to_zero == 1);
  }
  const RangeSummary far = summary_of(std::vector<double>{1e100, 1e-70});
  CHECK(scale_interval(far, binary16, 0, 0)->min_log2 == 208);
  CHECK(scale_interval(far, binary16, 0, 1e-171)->min_log2 == 208);
  CHECK(scale_interval(far, binary16, 0, 2e-170)->min_log2 == -126);
}

TEST_CASE("without a finite non-zero value there are no losses, no headroom and no interval") {
  for (const auto& values : {std::vector<double>{}, {0, -0.0}, {NAN, NAN}, {INFINITY, 0, NAN}}) {
    const RangeSummary s = summary_of(values);
    CHECK_FALSE(losses(s, binary16, 0));
    CHECK_FALSE(headroom(s, binary16));
    CHECK_FALSE(scale_interval(s, binary16, 1, 1e-3));
    CHECK(fates(s, binary16, 0).to_zero == 0);
  }
}

}  // namespace
}  // namespace binade::test::fate_test
