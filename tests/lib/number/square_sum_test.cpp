// SPDX-License-Identifier: Apache-2.0
//
// The three-limb sum against Boost.Multiprecision.
#include "lib/number/square_sum.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>

#include "tests/lib/range/exact.h"

namespace binade::test::square_sum_test {
namespace {

TEST_CASE("192-bit sums carry from limb to limb") {
  std::mt19937_64 random(8);
  SquareSum sum;
  Integer want = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint128 square =
        i % 4 == 0 ? ~uint128{0} >> 22 : (static_cast<uint128>(random()) << 64 | random()) >> 22;
    const std::uint64_t n = i % 3 == 0 ? ~std::uint64_t{0} : random();
    if (i % 2 == 0) {
      sum.add(square);
      want += integer_of(square);
    } else {
      SquareSum other;
      other.add_product(square, n >> 16);
      sum += other;
      want += integer_of(square) * (n >> 16);
    }
  }
  CHECK(integer_of_limbs(sum.limbs) == want);
  SquareSum most;
  most.limbs = {~std::uint64_t{0}, ~std::uint64_t{0}, 4};
  most.add(1);
  CHECK(most.limbs == std::array<std::uint64_t, 3>{0, 0, 5});
}

}  // namespace
}  // namespace binade::test::square_sum_test
