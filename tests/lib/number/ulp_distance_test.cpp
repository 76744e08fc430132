// SPDX-License-Identifier: Apache-2.0
//
// Distances between encodings: of neighbours, zeros, infinities and NaNs.
#include "lib/number/ulp_distance.h"

#include <doctest/doctest.h>

namespace binade::ulp_distance_test {

TEST_CASE("distances count numbers; both zeros are one, and infinity follows the largest") {
  CHECK(ulp_distance(0x3C00, 0x3C01, binary16) == 1);
  CHECK(ulp_distance(0x3C01, 0x3C00, binary16) == 1);
  CHECK(ulp_distance(0x0000, 0x8000, binary16) == 0);
  CHECK(ulp_distance(0x0001, 0x8001, binary16) == 2);
  CHECK(ulp_distance(0x7BFF, 0x7C00, binary16) == 1);
  CHECK(ulp_distance(0xFC00, 0x7C00, binary16) == 2 * 0x7C00);
  CHECK(!ulp_distance(0x7E00, 0x3C00, binary16));
  CHECK(!ulp_distance(0x3C00, 0xFFFF, binary16));
  CHECK(ulp_distance(0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, binary64) == 2 * 0x7FEFFFFFFFFFFFFFU);
  CHECK(ulp_distance(0x3F800000, 0x3F802000, tf32) == 1);
}

}  // namespace binade::ulp_distance_test
