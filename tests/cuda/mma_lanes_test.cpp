// SPDX-License-Identifier: Apache-2.0
//
// The lane maps of mma.sync and mma.sp are bijections: each element of each matrix is held by one
// place of one register of one lane, and all lie inside. mma_tiles_test.cpp compares them with
// CuTe's.
#include "cuda/mma_lanes.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>

namespace binade::mma_lanes_test {
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

TEST_CASE("a quadpair's lanes hold its matrices once, and a warp has four quadpairs") {
  std::set<std::pair<int, int>> members;
  for (int lane = 0; lane < 32; ++lane) {
    members.insert({QuadpairLanes::tile_of(lane), QuadpairLanes::rank_of(lane)});
  }
  CHECK(members.size() == 32);
  for (int quadpair = 0; quadpair < 4; ++quadpair) {
    const auto hold = [quadpair](Map map, int registers, int per) {
      std::set<std::pair<int, int>> held;
      for (int lane = 0; lane < 32; ++lane) {
        if (QuadpairLanes::tile_of(lane) != quadpair) continue;
        for (int i = 0; i < registers * per; ++i) {
          const Place place = map(lane, i / per, i % per, per);
          held.insert({place.row, place.column});
        }
      }
      return held.size();
    };
    CHECK(hold(QuadpairLanes::a, 2, 2) == 32);
    CHECK(hold(QuadpairLanes::b, 2, 2) == 32);
    CHECK(hold(QuadpairLanes::c, 8, 1) == 64);
    CHECK(hold(QuadpairLanes::c, 4, 2) == 64);
  }
}

TEST_CASE("metadata of each group of each row are held once, by the lanes of selector 0") {
  for (const int groups : {4, 8, 16}) {
    CAPTURE(groups);
    std::set<std::pair<int, int>> held;
    int words = 0;
    for (int lane = 0; lane < 32; ++lane) {
      words += place_of_metadata(lane, 0, groups).row >= 0 ? 1 : 0;
      for (int nibble = 0; nibble < 8; ++nibble) {
        const MetadataPlace place = place_of_metadata(lane, nibble, groups);
        if (place.row < 0) continue;
        CHECK(lane % 4 < groups / 4);
        CHECK(place.row % 8 == lane / 4);
        CHECK(held.insert({place.row, place.group}).second);
      }
    }
    CHECK(held.size() == static_cast<std::size_t>(16 * groups));
    CHECK(words == 2 * groups);
  }
}

TEST_CASE("each scale of each row and column is read once, whatever the selectors") {
  const auto check = [](auto map, int lines, int count, int byte_id, int thread_id) {
    std::set<std::pair<int, int>> held;
    int bytes = 0;
    for (int lane = 0; lane < 32; ++lane) {
      for (int byte = 0; byte < 4; ++byte) {
        const ScalePlace place = map(lane, byte, count, byte_id, thread_id);
        if (place.line < 0) continue;
        REQUIRE((place.line < lines && place.number >= 0 && place.number < count));
        held.insert({place.line, place.number});
        ++bytes;
      }
    }
    CHECK(held.size() == static_cast<std::size_t>(lines * count));
    CHECK(bytes == lines * count);
  };
  for (const int count : {1, 2, 4}) {
    for (int byte_id = 0; byte_id < 4; byte_id += count) {
      for (int thread_id = 0; thread_id < 4; ++thread_id) {
        CAPTURE(count);
        CAPTURE(byte_id);
        CAPTURE(thread_id);
        check(place_of_scale_b, 8, count, byte_id, thread_id);
        if (thread_id < 2) check(place_of_scale_a, 16, count, byte_id, thread_id);
      }
    }
  }
  // Lane 7 is the second of those that selector 1 names in the second four: row 9.
  CHECK(place_of_scale_a(7, 3, 2, 2, 1).line == 9);
  CHECK(place_of_scale_a(7, 3, 2, 2, 1).number == 1);
  CHECK(place_of_scale_b(7, 1, 1, 1, 3).line == 1);
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
  // m8n8k4 of f16: lane 22 is the seventh of the second quadpair; its c5 in f32 at row 6, column 7.
  CHECK(QuadpairLanes::tile_of(22) == 1);
  CHECK(QuadpairLanes::a(22, 1, 0, 2) == Place{6, 2});
  CHECK(QuadpairLanes::c(22, 5, 0, 1) == Place{4, 7});
}

}  // namespace
}  // namespace binade::mma_lanes_test
