// SPDX-License-Identifier: Apache-2.0
//
// Rounding noise from counts and sums by binade, against the exact squared errors of columns.
#include "lib/range/rounding_noise.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "lib/range/fate.h"
#include "tests/lib/range/values.h"

namespace binade::test::rounding_noise_test {
namespace {

/// Values of a normal distribution, by Box and Muller.
std::vector<float> normal_values(std::size_t n, double mean, double deviation) {
  std::mt19937_64 random(7);
  const auto uniform = [&random] {
    return std::ldexp(static_cast<double>(random() >> 11) + 1, -53);
  };
  std::vector<float> out;
  while (out.size() < n) {
    const double radius = deviation * std::sqrt(-2 * std::log(uniform()));
    out.push_back(static_cast<float>(mean + radius * std::cos(2 * 3.14159265358979 * uniform())));
  }
  return out;
}

TEST_CASE(
    "noise that is estimated from counts is near that of summed errors, with losses and "
    "saturation") {
  const auto heavy = random_values<float>(4000, -22, 4, 3);
  for (const auto& values : {normal_values(4000, 0, 1), normal_values(4000, 1, 0.003), heavy,
                             std::vector<float>(50, 0.7F)}) {
    for (const NamedFormat& row : report_formats) {
      for (const int scale : {-22, -12, -4, 0, 5, 7, 14}) {
        const ErrorColumn column{row.format, scale};
        const RangeSummary exact = summary_of(values, {column});
        const RangeSummary counts = summary_of(values, {});
        const auto sqnr = sqnr_db(exact, 0);
        const RoundingNoise noise = RoundingNoises(counts).at(row.format, scale);
        INFO(row.name << " at 2^" << scale << ", " << values[0]);
        CHECK(noise.sqnr_db == doctest::Approx(sqnr.value()).epsilon(0.02));
        CHECK(std::abs(noise.sqnr_db - *sqnr) < 0.5);
        CHECK(noise.lost_l2 == doctest::Approx(losses(counts, row.format, scale)->l2));
        CHECK(
            noise.to_zero * 4000 ==
            doctest::Approx(4000.0 * static_cast<double>(fates(counts, row.format, scale).to_zero) /
                            static_cast<double>(counts.nonzero())));
        if (*headroom(counts, row.format) < scale) continue;
        const RoundingNoise summed = RoundingNoises(exact).at(row.format, scale);
        CHECK(summed.sqnr_db == doctest::Approx(*sqnr).epsilon(1e-9));
        CHECK_FALSE(summed.estimated);
      }
    }
  }
}

TEST_CASE(
    "noise follows exactly from one magnitude, and from errors that were summed at another scale") {
  const auto same = summary_of(std::vector<float>{0.7F, -0.7F}, {});
  const RoundingNoise noise = RoundingNoises(same).at(e4m3, 3);
  CHECK_FALSE(noise.estimated);  // 0.7·8 = 5.6 becomes 5.5
  CHECK(noise.sqnr_db == doctest::Approx(20 * std::log10(5.6 / 0.1)).epsilon(1e-6));
  const auto exact = summary_of(std::vector<float>{0.75F}, {});
  CHECK(RoundingNoises(exact).at(e4m3, 0).sqnr_db == std::numeric_limits<double>::infinity());
  const std::vector<float> near{1.1F, 1.3F, 1.7F};
  const auto at_one = summary_of(near, {{e4m3, 0}});
  CHECK_FALSE(RoundingNoises(at_one).at(e4m3, 5).estimated);
  CHECK(RoundingNoises(at_one).at(e4m3, 5).sqnr_db ==
        doctest::Approx(sqnr_db(summary_of(near, {{e4m3, 5}}), 0).value()));
  CHECK(RoundingNoises(at_one).at(e4m3, -9).estimated);  // subnormal there
  CHECK(RoundingNoises(at_one).at(e5m2, 0).estimated);
}

TEST_CASE("noise of values at both ends of binary64 is finite") {
  const std::vector<double> far{0x1.23456p1000, 0x1.4p-1000};
  const auto counts = summary_of(far, {});
  const RoundingNoise noise = RoundingNoises(counts).at(bfloat16, -1000);
  CHECK(std::isfinite(noise.sqnr_db));
  CHECK(noise.to_zero == 0.5);
}

}  // namespace
}  // namespace binade::test::rounding_noise_test
