// SPDX-License-Identifier: Apache-2.0
//
// The range summary against brute force: at every power-of-two scale, from the one where all values
// become zero to the one where all overflow, its counts and lost masses are those of quantizing the
// exact product x·2^k value by value.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "lib/range/fate.h"
#include "tests/lib/range/exact.h"
#include "tests/lib/range/values.h"

namespace binade::test::brute_force_test {
namespace {

constexpr int unit = ExactSum::unit_exponent;

/// Finite values that are not zero, and what does not depend on the scale, in units of 2^lowest and
/// its square.
struct Sample {
  std::vector<Number> numbers;
  std::vector<Integer> values, squares;
  Integer total, total_squares;
  int lowest = 0;
  int first_binade = 0, last_binade = 0;
};

template <class T>
Sample sample_of(const std::vector<T>& values) {
  Sample out;
  for (const T x : values) {
    if (std::isfinite(x) && x != 0) out.numbers.push_back(number_of(x));
  }
  const auto by = [](auto member) {
    return [member](const Number& a, const Number& b) { return (a.*member)() < (b.*member)(); };
  };
  const auto [low, high] =
      std::minmax_element(out.numbers.begin(), out.numbers.end(), by(&Number::binade));
  out.first_binade = low->binade();
  out.last_binade = high->binade();
  out.lowest = out.first_binade - 53;
  for (const Number& x : out.numbers) {
    out.values.push_back(in_units(x.n, x.e, out.lowest));
    out.squares.emplace_back(out.values.back() * out.values.back());
    out.total += out.values.back();
    out.total_squares += out.squares.back();
  }
  return out;
}

struct Expected {
  Fates fates;
  Integer lost, lost_squares;  ///< in units of 2^lowest and its square
  Integer clipped;             ///< in units of 2^clipped_unit
  int clipped_unit = 0;
};

/// Where a format's fates change: (format, binade against its edge, segment's lower cut, outcome).
using Seen = std::set<std::tuple<std::string, std::string, int, Outcome>>;

void note(Seen& seen, const Number& x, int k, const Grid& g, Outcome outcome) {
  const int e = x.binade() + k;
  const char* edge = e == g.emin - g.precision ? "tie to zero"
                     : e == g.emin - 1         ? "below the normal numbers"
                     : e == g.emax             ? "top"
                                               : nullptr;
  if (edge == nullptr) return;
  const double m = std::ldexp(static_cast<double>(x.n), 1 - static_cast<int>(std::bit_width(x.n)));
  int segment = m == 1 ? 0 : 1;
  for (std::size_t c = 1; c + 1 < cuts.size(); ++c) {
    const bool above = c == 2 ? m > cuts[c] : m >= cuts[c];
    segment += above ? 1 : 0;
  }
  seen.emplace(g.name, edge, segment, outcome);
}

Expected expected_of(const Sample& sample, int k, const Grid& g, Seen& seen) {
  Expected out;
  const int max_exponent = g.emax - g.precision + 1 - k;
  out.clipped_unit = std::min(sample.lowest, max_exponent);
  const Integer max = in_units(g.max_significand, max_exponent, out.clipped_unit);
  for (std::size_t i = 0; i < sample.numbers.size(); ++i) {
    const Outcome outcome = round_to(sample.numbers[i], k, g).outcome;
    note(seen, sample.numbers[i], k, g, outcome);
    if (outcome == Outcome::to_zero) {
      ++out.fates.to_zero;
      out.lost += sample.values[i];
      out.lost_squares += sample.squares[i];
    } else if (outcome == Outcome::subnormal) {
      ++out.fates.subnormal;
    } else if (outcome == Outcome::overflow) {
      ++out.fates.overflow;
      out.clipped += in_units(sample.values[i], sample.lowest, out.clipped_unit) - max;
    }
  }
  return out;
}

/// Returns the first difference between summary and oracle; empty if they agree.
std::string difference(const RangeSummary& summary, const Sample& sample, const Format& format,
                       int k, const Expected& want) {
  const Fates f = fates(summary, format, k);
  const Masses m = masses(summary, format, k);
  const Norms all = norms(summary);
  const int square_unit = 2 * sample.lowest;
  if (f.to_zero != want.fates.to_zero) return "to_zero";
  if (f.subnormal != want.fates.subnormal) return "subnormal";
  if (f.overflow != want.fates.overflow) return "overflow";
  if (integer_of(all.l1) != in_units(sample.total, sample.lowest, unit)) return "total l1";
  if (integer_of(all.squares) != in_units(sample.total_squares, square_unit, unit)) {
    return "total squares";
  }
  if (integer_of(m.lost_l1) != in_units(want.lost, sample.lowest, unit)) return "lost l1";
  if (integer_of(m.lost_squares) != in_units(want.lost_squares, square_unit, unit)) {
    return "lost squares";
  }
  if (integer_of(m.clipped_l1) != in_units(want.clipped, want.clipped_unit, unit))
    return "clipped l1";
  return "";
}

struct Tally {
  Seen seen;
  std::map<std::string, Fates> total;  ///< by format, over all scales
};

/// Tries every scale of every format, from "all to zero" to "all overflow".
template <class T>
void check_all_scales(const std::vector<T>& values, Tally& tally) {
  const RangeSummary summary = summary_of(values);
  const Sample sample = sample_of(values);
  REQUIRE(summary.nonzero() == sample.numbers.size());
  for (std::size_t f = 0; f < grids.size(); ++f) {
    const Grid& g = grids[f];
    const Format format = report_formats[f].format;
    REQUIRE(report_formats[f].name == g.name);
    const int first = g.emin - g.precision - 1 - sample.last_binade;
    const int last = g.emax + 1 - sample.first_binade;
    for (int k = first; k <= last; ++k) {
      const Expected want = expected_of(sample, k, g, tally.seen);
      const std::string wrong = difference(summary, sample, format, k, want);
      INFO(name_of(g) << " at scale 2^" << k << ": " << wrong);
      REQUIRE(wrong.empty());
      Fates& total = tally.total[g.name];
      total.to_zero += want.fates.to_zero;
      total.subnormal += want.fates.subnormal;
      total.overflow += want.fates.overflow;
      if (k == first) REQUIRE(want.fates.to_zero == sample.numbers.size());
      if (k == last) REQUIRE(want.fates.overflow == sample.numbers.size());
    }
  }
}

/// Checks that each segment came up at each edge, and that each edge is where the format's document
/// says.
void check_edges(const Tally& tally) {
  struct Edge {
    const char* name;
    Outcome below, above;
    std::array<int, 5> cut;  ///< first segment with the second outcome, by format
  };
  constexpr std::array<Edge, 3> edges{{
      {"tie to zero", Outcome::to_zero, Outcome::subnormal, {1, 1, 1, 1, 1}},
      {"below the normal numbers", Outcome::subnormal, Outcome::normal, {7, 5, 7, 2, 4}},
      {"top", Outcome::normal, Outcome::overflow, {8, 6, 8, 4, 3}},
  }};
  for (std::size_t f = 0; f < grids.size(); ++f) {
    for (const Edge& edge : edges) {
      for (int segment = 0; segment < segments; ++segment) {
        const bool above = segment >= edge.cut[f];
        INFO(name_of(grids[f]) << ", " << std::string(edge.name) << ", segment " << segment);
        CHECK(tally.seen.contains(
            {grids[f].name, edge.name, segment, above ? edge.above : edge.below}));
        CHECK_FALSE(tally.seen.contains(
            {grids[f].name, edge.name, segment, above ? edge.below : edge.above}));
      }
    }
    const Fates& total = tally.total.at(grids[f].name);
    CHECK(total.to_zero > 0);
    CHECK(total.subnormal > 0);
    CHECK(total.overflow > 0);
  }
}

TEST_CASE("floats of all binades: summary and value-by-value quantizing agree at every scale") {
  std::vector<float> values = edge_values<float>(-149, 127, 1);
  append(values, special_values<float>());
  append(values, random_values<float>(2000, -149, 127, 1));
  Tally tally;
  check_all_scales(values, tally);
  check_edges(tally);
}

TEST_CASE("doubles of all binades: summary and value-by-value quantizing agree at every scale") {
  std::vector<double> values = edge_values<double>(-1074, 1023, 53);
  append(values, edge_values<double>(-1074, -1070, 2));
  append(values, special_values<double>());
  append(values, random_values<double>(500, -1074, 1023, 2));
  Tally tally;
  check_all_scales(values, tally);
  check_edges(tally);
}

TEST_CASE("a gradient-like tensor: summary and value-by-value quantizing agree at every scale") {
  std::vector<double> values = edge_values<double>(-40, 2, 3);
  append(values, special_values<double>());
  values.erase(std::remove_if(values.begin(), values.end(),
                              [](double x) { return std::abs(x) < 1e-100 || std::abs(x) > 1e100; }),
               values.end());
  append(values, random_values<double>(500, -45, 2, 3));
  Tally tally;
  check_all_scales(values, tally);
  check_edges(tally);
}

TEST_CASE("values of low precision, most of which are ties, agree at every scale") {
  std::vector<float> values;
  for (int m = 1; m < 64; ++m) {
    for (const int e : {-149, -30, -20, 0, 11, 100}) {
      values.push_back(std::ldexp(static_cast<float>(m), e));
    }
  }
  Tally tally;
  check_all_scales(values, tally);
  CHECK(tally.seen.contains({"e4m3", "top", 2, Outcome::normal}));  // the tie 464 stays 448
}

}  // namespace
}  // namespace binade::test::brute_force_test
