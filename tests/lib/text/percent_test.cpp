// SPDX-License-Identifier: Apache-2.0
//
// Shares that are never rounded to nothing or to all.
#include "lib/text/percent.h"

#include <doctest/doctest.h>

namespace binade::percent_test {
namespace {

TEST_CASE("shares read as people write them") {
  CHECK(percent(0) == "0 %");
  CHECK(percent(1) == "100 %");
  CHECK(percent(0.611) == "61.1 %");
  CHECK(percent(0.00044) == "0.044 %");
  CHECK(percent(0.9999) == "> 99.9 %");
  CHECK(percent(0.5) == "50.0 %");
  CHECK(percent(1e-9) == "1.0e-07 %");
  CHECK(percent(1e-101) == "1.0e-99 %");
  CHECK(percent(1e-170) == "1e-168 %");
  CHECK(percent(0x1p-1074) == "5e-322 %");
}

}  // namespace
}  // namespace binade::percent_test
