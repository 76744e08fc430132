// SPDX-License-Identifier: Apache-2.0
//
// Shapes as NumPy writes them, and shares.
#include "lib/text/shape.h"

#include <doctest/doctest.h>

#include <vector>

#include "lib/text/percent.h"

namespace binade::shape_test {
namespace {

TEST_CASE("a shape of one axis ends with a comma") {
  CHECK(shape_text(std::vector<std::uint64_t>{}) == "()");
  CHECK(shape_text(std::vector<std::uint64_t>{5}) == "(5,)");
  CHECK(shape_text(std::vector<std::uint64_t>{5000, 16}) == "(5000, 16)");
}

TEST_CASE("a share is never rounded to nothing or to all") {
  CHECK(percent(0) == "0 %");
  CHECK(percent(1) == "100 %");
  CHECK(percent(0.99999) == "> 99.9 %");
  CHECK(percent(0.611) == "61.1 %");
  CHECK(percent(0.00044) == "0.044 %");
  CHECK(percent(1e-9) == "1.0e-07 %");
}

}  // namespace
}  // namespace binade::shape_test
