// SPDX-License-Identifier: Apache-2.0
//
// Generated rows of sparse and of integer instructions.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <set>

#include "tests/lib/cases/dot_rows.h"

namespace binade::integer_and_sparse_cases_test {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): rows and models

/// Returns which elements of a group are not zero.
unsigned pattern_of(const Dots& dots, std::size_t group) {
  unsigned out = 0;
  for (std::size_t i = 0; i < 4; ++i) out |= dots.a[group * 4 + i] != 0 ? 1U << i : 0;
  return out;
}

}  // namespace

TEST_CASE("sparse rows: half of each group at most, in every place, and numbers beside zeros") {
  const Named sparse{"mma.sp.m16n8k32.f32.f16.f16.f32", 90};
  const Named dense{"mma.m16n8k16.f32.f16.f16.f32", 90};
  const Dots dots = rows_of("normal", sparse, 500);
  const Dots same = rows_of("normal", dense, 500);
  std::set<unsigned> pairs;
  for (std::size_t group = 0; group < dots.a.size() / 4; ++group) {
    const unsigned pattern = pattern_of(dots, group);
    CHECK(std::popcount(pattern) <= 2);
    if (std::popcount(pattern) == 2) pairs.insert(pattern);
  }
  CHECK(pairs.size() == 6);
  for (std::size_t row = 0; row < 500; ++row) {
    std::uint16_t a[16]{};
    std::uint16_t b[16]{};
    keep_half(dots.a.data() + row * 32, dots.b.data() + row * 32, 32, 4, a, b);
    CHECK(std::equal(a, a + 16, same.a.begin() + static_cast<std::ptrdiff_t>(row * 16)));
    CHECK(std::equal(b, b + 16, same.b.begin() + static_cast<std::ptrdiff_t>(row * 16)));
  }
  CHECK(full_rows(parse_dot_generator("k_order"), instruction(sparse)) == 256);
  const Dots tf32_rows = rows_of("normal", {"mma.sp.m16n8k16.f32.tf32.tf32.f32", 90}, 100);
  for (std::size_t i = 0; i < tf32_rows.a.size(); i += 2) {
    CHECK((tf32_rows.a[i] == 0 || tf32_rows.a[i + 1] == 0));
  }
}

TEST_CASE("integers: some sums wrap, some saturate at either end") {
  const Instruction how = instruction({"mma.m16n8k32.s32.s8.u8.s32", 90});
  Instruction saturating = how;
  saturating.model.integer.satfinite = true;
  const Dots dots = rows_of("integers", {"mma.m16n8k32.s32.s8.u8.s32", 90}, 2000);
  std::size_t wrapped = 0, lowest = 0, highest = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::uint64_t end = emulated(dots, saturating, i);
    wrapped += emulated(dots, how, i) != end ? 1 : 0;
    lowest += end == 0x80000000 ? 1 : 0;
    highest += end == 0x7FFFFFFF ? 1 : 0;
  }
  CHECK(wrapped > 200);
  CHECK(lowest > 100);
  CHECK(highest > 100);
  CHECK(!parse_dot_generator("normal").suits(how));
  CHECK(!parse_dot_generator("integers").suits(instruction(to_f16)));
}

}  // namespace binade::integer_and_sparse_cases_test
