// SPDX-License-Identifier: Apache-2.0
//
// Fast rounding and fast sums against the definitions: every width and rounding, ties and their
// neighbours, both ends of the range.
#include "emulate/fast/rounded_sum.h"

#include <doctest/doctest.h>

#include "tests/emulate/operand_draw.h"

namespace binade::rounded_sum_test {
namespace {

const Format grids[]{binary16, bfloat16, binary32, Format{8, 14, 127}};

TEST_CASE("a sum is rounded as its definition rounds it") {
  test::Random random(1);
  std::uint64_t compared = 0, infinite = 0, small = 0;
  for (const Format& grid : grids) {
    const Format d = grid == grids[3] ? binary32 : grid;
    for (const Rounding rounding :
         {Rounding::ties_to_even, Rounding::toward_zero, Rounding::toward_positive}) {
      const DotModel model{.grid = grid, .rounding = rounding};
      for (int i = 0; i < 40000; ++i) {
        const int width = test::between(random, 1, 62);
        auto magnitude = static_cast<std::int64_t>(random() >> (64 - width));
        const int drop = width - grid.precision;
        if (drop > 0 && i % 2 == 0) {  // at a tie, or 1 beside it
          magnitude = (magnitude >> drop << drop | std::int64_t{1} << (drop - 1)) +
                      test::between(random, -1, 1);
        }
        if (i % 5 == 0) magnitude = (std::int64_t{1} << width) - 1;
        const int at = i % 3 == 0   ? grid.emax()
                       : i % 3 == 1 ? grid.emin()
                                    : test::between(random, grid.emin(), grid.emax());
        const int exponent = at - width + test::between(random, -3, 3);
        const std::int64_t sum = random() % 2 == 0 ? magnitude : -magnitude;
        CAPTURE(sum);
        CAPTURE(exponent);
        const std::uint64_t expected = binade::rounded_sum(sum, exponent, model, d);
        REQUIRE(fast::rounded_sum(sum, exponent, model, d) == expected);
        const Fields fields = fields_of(expected, d);
        infinite += fields.exponent == d.exponent_mask() ? 1 : 0;
        small += fields.exponent == 0 ? 1 : 0;
        ++compared;
      }
    }
  }
  CHECK(compared == 4 * 3 * 40000);
  CHECK(infinite > compared / 20);
  CHECK(small > compared / 20);
}

TEST_CASE("two numbers are added as `compute` adds them") {
  test::Random random(2);
  std::uint64_t numbers = 0, all = 0;
  for (const Format& x : {binary16, bfloat16, binary32, binary64, e4m3}) {
    for (const Format& y : {binary16, binary32, binary64, e5m2}) {
      for (const Format& d : {binary16, bfloat16, binary32, binary64, e4m3, e2m1}) {
        for (int i = 0; i < 4000; ++i) {
          const bool near = i % 2 == 0;
          const int e = test::between(random, x.emin() - 1, x.emax());
          const std::uint64_t left =
              near ? test::draw_at(random, x, e) : random() >> (64 - x.bits());
          const std::uint64_t right =
              near ? test::draw_at(random, y, e + test::between(random, -30, 30))
                   : random() >> (64 - y.bits());
          const std::uint64_t expected =
              compute(Operation::add, {left, right}, {x, y}, d, {.nan = NanResult::nvidia}).bits;
          CAPTURE(left);
          CAPTURE(right);
          REQUIRE(fast::nearest_sum(left, x, right, y, d) == expected);
          numbers += decode(expected, d).kind == Kind::finite ? 1 : 0;
          ++all;
        }
      }
    }
  }
  CHECK(numbers > all / 2);
  CHECK(numbers < all);
}

}  // namespace
}  // namespace binade::rounded_sum_test
