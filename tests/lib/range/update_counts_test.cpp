// SPDX-License-Identifier: Apache-2.0
//
// Updates at the edges of being lost, worked out by hand; and arrays of updates against the
// definition.
#include "lib/range/update_counts.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "lib/parallel/parallel.h"

namespace binade::test::update_counts_test {
namespace {

template <class Code>
UpdateCounts by_array(const std::vector<Code>& weights, const Format& of_weights,
                      const std::vector<Code>& updates, const Format& of_updates) {
  std::vector<UpdateCounts> slots(thread_count());
  add_updates(slots, {std::as_bytes(std::span(weights)).data(), of_weights,
                      std::as_bytes(std::span(updates)).data(), of_updates, weights.size()});
  return merged(slots);
}

template <class Code>
UpdateCounts by_definition(const std::vector<Code>& weights, const Format& of_weights,
                           const std::vector<Code>& updates, const Format& of_updates) {
  UpdateCounts out;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    add_update(out, weights[i], of_weights, updates[i], of_updates);
  }
  return out;
}

/// One pair, by the definition and as an array of one.
UpdateCounts one(float weight, float update) {
  const std::vector w{std::bit_cast<std::uint32_t>(weight)};
  const std::vector u{std::bit_cast<std::uint32_t>(update)};
  const UpdateCounts out = by_definition(w, binary32, u, binary32);
  CHECK(by_array(w, binary32, u, binary32) == out);
  return out;
}

bool lost(float weight, float update, std::size_t format = 0) {
  return one(weight, update).kept_in[format].lost == 1;
}

TEST_CASE("half a unit in the last place is a tie: lost where the weight is even") {
  CHECK(lost(1, -0x1p-11F));  // up from 1 to 1 + 2^-10: half way, 1 is even
  CHECK_FALSE(lost(1, -0x1.000002p-11F));
  CHECK(lost(1, 0x1p-12F));  // below 1 the grid is finer
  CHECK_FALSE(lost(1, 0x1.000002p-12F));
  CHECK_FALSE(lost(1 + 0x1p-10F, -0x1p-11F));  // odd: the tie leaves it
  CHECK_FALSE(lost(1 + 0x1p-10F, 0x1p-11F));
  CHECK(lost(1 + 0x1p-10F, 0x1.fffffep-12F));
  CHECK(lost(-1, 0x1p-11F));
  CHECK_FALSE(lost(-1, -0x1.000002p-12F));
}

TEST_CASE("bfloat16 loses updates eight times as large") {
  CHECK(lost(1, -0x1p-8F, 1));
  CHECK_FALSE(lost(1, -0x1.000002p-8F, 1));
  CHECK_FALSE(lost(1, -0x1p-8F, 0));
}

TEST_CASE("a weight between the numbers of the format is rounded before it is updated") {
  CHECK(lost(1 + 0x1p-12F, 0x1p-12F));  // held as 1, a tie
  CHECK_FALSE(lost(1 + 0x1p-12F, 0x1.000002p-12F));
}

TEST_CASE("a zero weight loses what rounds to zero itself, of either sign") {
  CHECK(lost(0, 0x1p-25F));
  CHECK(lost(-0.0F, -0x1p-25F));
  CHECK_FALSE(lost(0, 0x1.000002p-25F));
  CHECK_FALSE(lost(0x1p-24F, 0x1p-24F));  // to zero, which it was not
  CHECK(one(0, 0x1p-25F).below_2_11 == 0);
}

TEST_CASE("a weight that the format cannot hold is counted apart") {
  const UpdateCounts counts = one(1e6F, 1e-3F);
  CHECK(counts.kept_in[0].overflow == 1);
  CHECK(counts.kept_in[0].lost == 0);
  CHECK(counts.kept_in[1].overflow == 0);
  CHECK(counts.kept_in[1].lost == 1);
  CHECK_FALSE(lost(65504, -16));  // half way past the largest number: 65520 overflows
  CHECK(lost(65504, -0x1.fffffep3F));
}

TEST_CASE("the ratio 2^-11 is compared exactly") {
  CHECK(one(3, 3 * 0x1p-11F).below_2_11 == 0);
  CHECK(one(3, std::nextafter(3 * 0x1p-11F, 0.0F)).below_2_11 == 1);
  CHECK(one(-3, 0x1p-12F).below_2_11 == 1);
  CHECK(one(0x1p-149F, 0x1p-149F).below_2_11 == 0);
  CHECK(one(0x1p-137F, 0x1p-149F).below_2_11 == 1);
}

TEST_CASE("zero, infinite and NaN updates and weights that are not finite are not counted") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const auto& [weight, update] :
       {std::pair{1.0F, 0.0F}, {1.0F, inf}, {1.0F, NAN}, {inf, 1.0F}, {NAN, 1.0F}}) {
    const UpdateCounts counts = one(weight, update);
    CHECK(counts.values == 1);
    CHECK(counts.updates == 0);
    CHECK(counts.kept_in[0].lost + counts.kept_in[1].lost == 0);
    CHECK(counts.squares.is_zero());
  }
}

TEST_CASE("the lost share of the norm is that of the lost updates") {
  UpdateCounts counts = one(1, 3 * 0x1p-14F);  // lost in both
  merge(counts, one(1, 0x1p-12F * 4));         // kept in binary16 only: 4² against 0.75²
  CHECK(lost_l2(counts, 0) == std::sqrt(0.5625 / 16.5625));
  CHECK(lost_l2(counts, 1) == 1);
  CHECK(lost_l2(UpdateCounts{}, 0) == 0);
  UpdateCounts far;  // of two weights 1 of binary64 the one loses 2^-600, the other takes 2^300
  for (const double update : {0x1p-600, 0x1p300}) {
    add_update(far, std::bit_cast<std::uint64_t>(1.0), binary64,
               std::bit_cast<std::uint64_t>(update), binary64);
  }
  CHECK(lost_l2(far, 0) == 0x1p-900);
}

TEST_CASE("half of the lost updates or more are below the size that is told") {
  HeldUpdates held;
  CHECK_FALSE(held.any());
  CHECK_FALSE(held.median_log2_of_ulp().has_value());
  held.asked = 10;
  held.lost = held.unknown = 2;
  CHECK_FALSE(held.median_log2_of_ulp().has_value());  // the sizes are not known
  held.lost = 6;
  held.lost_by_size[3] = held.lost_by_size[5] =
      2;  // two are at least 1/8 of an ulp, two below 1/16
  CHECK(held.median_log2_of_ulp() == -4);
  held.lost_by_size[3] = 3;
  held.lost_by_size[5] = 1;
  CHECK(held.median_log2_of_ulp() == -2);
  HeldUpdates tiny{.asked = 1, .lost = 1};
  tiny.lost_by_size.back() = 1;
  CHECK(tiny.median_log2_of_ulp() == -30);
  UpdateCounts sum = one(1, 1), other;
  other.held = held;
  merge(sum, other);
  merge(sum, other);
  CHECK(sum.held.any());
  CHECK(sum.held.asked == 20);
  CHECK(sum.held.lost == 12);
  CHECK(sum.held.lost_by_size[3] == 6);
}

/// Weights and, for each, updates around the deciding sizes: halves and quarters of the
/// spacing of numbers, 2^-11 of the weight, tiny and large ones.
struct Pairs {
  std::vector<std::uint32_t> weights, updates;

  void add(float w, float u) {
    weights.push_back(std::bit_cast<std::uint32_t>(w));
    updates.push_back(std::bit_cast<std::uint32_t>(u));
  }
  void add_around(float w, float u) {
    for (const float x : {std::nextafter(u, 0.0F), u, std::nextafter(u, INFINITY)}) {
      add(w, x);
      add(w, -x);
    }
  }
};

TEST_CASE("an array's counts are the definition's, of every binade and around every threshold") {
  std::mt19937 random(1);
  Pairs pairs;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    const auto power = std::bit_cast<std::uint32_t>(std::ldexp(1.0F, exponent));
    for (const std::uint32_t fraction :
         {0U, 1U << 12, 1U << 13, 3U << 12, 1U << 15, 1U << 16, 3U << 15, 0x7fffffU,
          static_cast<std::uint32_t>(random() & 0x7fffffU)}) {
      const auto w = std::bit_cast<float>(power | fraction) * (exponent % 2 == 0 ? 1.0F : -1.0F);
      for (int below = -2; below <= 27; ++below) {
        pairs.add_around(w, std::ldexp(1.0F, std::max(exponent - below, -149)));
      }
      pairs.add_around(w, std::ldexp(std::abs(w), -11));
      for (const int tie : {-24, -25, -26, -133, -134, -135}) {
        pairs.add_around(w, std::ldexp(1.0F, tie));
      }
    }
  }
  for (const float w : {0.0F, -0.0F, 65504.0F, 65519.0F, 65520.0F, 65536.0F, INFINITY, NAN,
                        std::numeric_limits<float>::max()}) {
    for (const float u : {0.0F, -0.0F, INFINITY, NAN, 8.0F, 15.9F, 16.0F, 0x1p-25F, 0x1p-134F,
                          std::numeric_limits<float>::max()}) {
      pairs.add_around(w, u);
    }
  }
  REQUIRE(pairs.weights.size() > 100000);
  const UpdateCounts want = by_definition(pairs.weights, binary32, pairs.updates, binary32);
  CHECK(by_array(pairs.weights, binary32, pairs.updates, binary32) == want);
  for (const LostUpdates& kept : want.kept_in) {
    CHECK(kept.lost > 1000);
    CHECK(kept.lost < want.updates);
    CHECK(kept.overflow > 10);
  }
  CHECK(want.below_2_11 > 1000);
}

TEST_CASE("random encodings of every floating format give the definition's counts") {
  std::mt19937_64 random(2);
  std::vector<std::uint16_t> w(30000), u(30000);
  for (auto* codes : {&w, &u}) {
    for (std::uint16_t& code : *codes) code = static_cast<std::uint16_t>(random());
  }
  for (const Format& format : {binary16, bfloat16}) {
    CHECK(by_array(w, format, u, format) == by_definition(w, format, u, format));
  }
  std::vector<std::uint64_t> wide(3000), updates(3000);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    wide[i] = std::bit_cast<std::uint64_t>(
        std::ldexp(1 + 0x1p-60 * static_cast<double>(random() >> 4), -3));
    updates[i] = std::bit_cast<std::uint64_t>(0x1p-14 * static_cast<double>(i));
  }
  const UpdateCounts counts = by_array(wide, binary64, updates, binary64);
  CHECK(counts == by_definition(wide, binary64, updates, binary64));
  CHECK(counts.kept_in[0].lost > 0);
}

}  // namespace
}  // namespace binade::test::update_counts_test
