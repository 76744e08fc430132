// SPDX-License-Identifier: Apache-2.0
//
// Shapes as NumPy writes them.
#include "lib/text/shape.h"

#include <doctest/doctest.h>

#include <vector>

namespace binade::shape_test {
namespace {

TEST_CASE("a shape of one axis ends with a comma") {
  CHECK(shape_text(std::vector<std::uint64_t>{}) == "()");
  CHECK(shape_text(std::vector<std::uint64_t>{5}) == "(5,)");
  CHECK(shape_text(std::vector<std::uint64_t>{5000, 16}) == "(5000, 16)");
}

}  // namespace
}  // namespace binade::shape_test
