// SPDX-License-Identifier: Apache-2.0
//
// The lane maps of mma.m16n8 are bijections: each element of each matrix is held by one place of one
// register of one lane, and all lie inside.
#include "cuda/mma_lanes.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>

namespace binade {
namespace {

using Map = Place (*)(int lane, int reg, int element, int per);

/// How often each element of a rows × columns matrix is held; every place must lie inside.
void check_bijection(Map map, int rows, int columns, int registers, int per) {
  std::set<std::pair<int, int>> held;
  for (int lane = 0; lane < 32; ++lane) {
    for (int reg = 0; reg < registers; ++reg) {
      for (int element = 0; element < per; ++element) {
        const Place place = map(lane, reg, element, per);
        REQUIRE(
            (place.row >= 0 && place.row < rows && place.column >= 0 && place.column < columns));
        held.insert({place.row, place.column});
      }
    }
  }
  CHECK(held.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  CHECK(32 * registers * per == rows * columns);
}

TEST_CASE("every element of a, b, c and d is held exactly once, at every shape and width") {
  struct Shape {
    int k, per;
  };
  for (const Shape& shape : {Shape{4, 1}, {8, 1}, {8, 2}, {16, 2}, {16, 4}, {32, 4}}) {
    CAPTURE(shape.k);
    CAPTURE(shape.per);
    check_bijection(place_of_a, 16, shape.k, shape.k / 2 / shape.per, shape.per);
    check_bijection(place_of_b, shape.k, 8, shape.k / 4 / shape.per, shape.per);
  }
  check_bijection(place_of_c, 16, 8, 4, 1);
  check_bijection(place_of_c, 16, 8, 2, 2);
}

TEST_CASE("the places are those of the PTX ISA's figures") {
  // m16n8k16, 16 bits: lane 5 holds a0, a1 at row 1, columns 2 and 3; its register 3 at row 9, 10.
  CHECK(place_of_a(5, 0, 1, 2) == Place{1, 3});
  CHECK(place_of_a(5, 1, 0, 2) == Place{9, 2});
  CHECK(place_of_a(5, 2, 0, 2) == Place{1, 10});
  CHECK(place_of_a(5, 3, 0, 2) == Place{9, 10});
  CHECK(place_of_b(5, 1, 1, 2) == Place{11, 1});
  CHECK(place_of_c(5, 3, 0, 1) == Place{9, 3});
  CHECK(place_of_c(5, 1, 1, 2) == Place{9, 3});
  // m16n8k32, 8 bits; m16n8k8, tf32.
  CHECK(place_of_a(6, 2, 3, 4) == Place{1, 27});
  CHECK(place_of_a(6, 3, 0, 1) == Place{9, 6});
  CHECK(place_of_b(6, 1, 0, 1) == Place{6, 1});
}

}  // namespace
}  // namespace binade
