// SPDX-License-Identifier: Apache-2.0
//
// wgmma's core matrices fill shared memory without a gap, descriptors say where they lie, and the
// accumulators of 128 threads hold each element once. wgmma_tiles_test.cpp compares them with
// CuTe's.
#include "cuda/wgmma_layout.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>

namespace binade::wgmma_layout_test {
namespace {

TEST_CASE("each byte of a matrix has its own place, and there is no gap") {
  for (const int row_bytes : {32, 64}) {
    for (const int rows : {wgmma_n, wgmma_m}) {
      std::set<int> offsets;
      for (int row = 0; row < rows; ++row) {
        for (int byte = 0; byte < row_bytes; ++byte) {
          offsets.insert(core_offset(row, byte, row_bytes));
        }
      }
      CHECK(offsets.size() == static_cast<std::size_t>(rows * row_bytes));
      CHECK(*offsets.begin() == 0);
      CHECK(*offsets.rbegin() == rows * row_bytes - 1);
    }
  }
  CHECK(core_offset(3, 5, 32) == 53);         // within the first core matrix
  CHECK(core_offset(3, 21, 32) == 128 + 53);  // the second along k
  CHECK(core_offset(11, 5, 32) == 256 + 53);  // the next eight rows
  CHECK(core_offset(11, 5, 64) == 512 + 53);
}

TEST_CASE("a descriptor has address and strides in 16 bytes, and no swizzle") {
  CHECK(wgmma_descriptor(0x480, 32) == (0x48U | std::uint64_t{8} << 16 | std::uint64_t{16} << 32));
  CHECK(wgmma_descriptor(0x3FF80, 64) ==
        (0x3FF8U | std::uint64_t{8} << 16 | std::uint64_t{32} << 32));
  CHECK((wgmma_descriptor(0xFFFFFFF0, 32) & 0xFFFF) == 0x3FFF);  // 18 bits of address
}

TEST_CASE("each element of d is held once, in four registers of f32 or two of f16") {
  for (const int per : {1, 2}) {
    std::set<std::pair<int, int>> held;
    for (int thread = 0; thread < wgmma_threads; ++thread) {
      for (int i = 0; i < 4; ++i) {
        const Place place = place_of_wgmma_c(thread, i / per, i % per, per);
        CHECK((place.row >= 0 && place.row < wgmma_m && place.column >= 0 &&
               place.column < wgmma_n) == true);
        held.insert({place.row, place.column});
      }
    }
    CHECK(held.size() == std::size_t{wgmma_m} * wgmma_n);
  }
  CHECK(place_of_wgmma_c(37, 2, 0, 1) == Place{25, 2});
}

}  // namespace
}  // namespace binade::wgmma_layout_test
