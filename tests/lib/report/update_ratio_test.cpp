// SPDX-License-Identifier: Apache-2.0
//
// Updates on the edges of being lost, worked out by hand, and two tensors read side by side.
#include "lib/report/update_ratio.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/lib/io/files.h"

namespace binade::test::update_ratio_test {
namespace {

UpdateCounts one(float weight, float update) {
  UpdateCounts counts;
  add_update(counts, std::bit_cast<std::uint32_t>(weight), binary32,
             std::bit_cast<std::uint32_t>(update), binary32);
  return counts;
}

bool lost(float weight, float update, std::size_t format = 0) {
  return one(weight, update).kept_in[format].lost == 1;
}

TEST_CASE("half a unit in the last place is a tie: lost where the weight is even") {
  CHECK(lost(1, -0x1p-11F));  // up from 1 to 1 + 2^-10: half way, 1 is even
  CHECK_FALSE(lost(1, -0x1.000002p-11F));
  CHECK(lost(1, 0x1p-12F));  // below 1 the grid is finer
  CHECK_FALSE(lost(1, 0x1.000002p-12F));
  CHECK_FALSE(lost(1 + 0x1p-10F, -0x1p-11F));  // odd: the tie leaves it
  CHECK_FALSE(lost(1 + 0x1p-10F, 0x1p-11F));
  CHECK(lost(1 + 0x1p-10F, 0x1.fffffep-12F));
  CHECK(lost(-1, 0x1p-11F));
  CHECK_FALSE(lost(-1, -0x1.000002p-12F));
}

TEST_CASE("bfloat16 loses updates eight times as large") {
  CHECK(lost(1, -0x1p-8F, 1));
  CHECK_FALSE(lost(1, -0x1.000002p-8F, 1));
  CHECK_FALSE(lost(1, -0x1p-8F, 0));
}

TEST_CASE("a weight between the numbers of the format is rounded before it is updated") {
  CHECK(lost(1 + 0x1p-12F, 0x1p-12F));  // held as 1, a tie
  CHECK_FALSE(lost(1 + 0x1p-12F, 0x1.000002p-12F));
}

TEST_CASE("a zero weight loses what rounds to zero itself, of either sign") {
  CHECK(lost(0, 0x1p-25F));
  CHECK(lost(-0.0F, -0x1p-25F));
  CHECK_FALSE(lost(0, 0x1.000002p-25F));
  CHECK_FALSE(lost(0x1p-24F, 0x1p-24F));  // to zero, which it was not
  CHECK(one(0, 0x1p-25F).below_2_11 == 0);
}

TEST_CASE("a weight that the format cannot hold is counted apart") {
  const UpdateCounts counts = one(1e6F, 1e-3F);
  CHECK(counts.kept_in[0].overflow == 1);
  CHECK(counts.kept_in[0].lost == 0);
  CHECK(counts.kept_in[1].overflow == 0);
  CHECK(counts.kept_in[1].lost == 1);
  CHECK_FALSE(lost(65504, -16));  // half way past the largest number: 65520 overflows
  CHECK(lost(65504, -0x1.fffffep3F));
}

TEST_CASE("the ratio 2^-11 is compared exactly") {
  CHECK(one(3, 3 * 0x1p-11F).below_2_11 == 0);
  CHECK(one(3, std::nextafter(3 * 0x1p-11F, 0.0F)).below_2_11 == 1);
  CHECK(one(-3, 0x1p-12F).below_2_11 == 1);
  CHECK(one(0x1p-149F, 0x1p-149F).below_2_11 == 0);
  CHECK(one(0x1p-137F, 0x1p-149F).below_2_11 == 1);
}

TEST_CASE("zero, infinite and NaN updates and weights that are not finite are not counted") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const auto& [weight, update] :
       {std::pair{1.0F, 0.0F}, {1.0F, inf}, {1.0F, NAN}, {inf, 1.0F}, {NAN, 1.0F}}) {
    const UpdateCounts counts = one(weight, update);
    CHECK(counts.values == 1);
    CHECK(counts.updates == 0);
    CHECK(counts.kept_in[0].lost + counts.kept_in[1].lost == 0);
    CHECK(counts.squares.is_zero());
  }
}

TEST_CASE("the lost share of the norm is that of the lost updates") {
  UpdateCounts counts = one(1, 3 * 0x1p-14F);  // lost in both
  merge(counts, one(1, 0x1p-12F * 4));         // kept in binary16 only: 4² against 0.75²
  CHECK(lost_l2(counts, 0) == std::sqrt(0.5625 / 16.5625));
  CHECK(lost_l2(counts, 1) == 1);
  CHECK(lost_l2(UpdateCounts{}, 0) == 0);
}

TEST_CASE("tensors of different types are read side by side, each element with its own") {
  const Folder folder;
  constexpr std::size_t n = 100003;  // more than a thread's share
  std::string weights, updates;
  std::uint64_t small = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint16_t weight = 0x3F80;  // 1 in bfloat16
    const float update = i % 3 == 0 ? 0x1p-12F : 0x1p-7F;
    small += i % 3 == 0 ? 1 : 0;
    weights.append(reinterpret_cast<const char*>(&weight), 2);
    updates.append(reinterpret_cast<const char*>(&update), 4);
  }
  const std::string shape = "[" + std::to_string(n) + "]";
  const auto file = open_tensor_file(folder.write(
      "run.safetensors",
      safetensors(R"({"w":{"dtype":"BF16","shape":)" + shape + R"(,"data_offsets":[0,)" +
                      std::to_string(2 * n) + R"(]},"u":{"dtype":"F32","shape":)" + shape +
                      R"(,"data_offsets":[)" + std::to_string(2 * n) + "," + std::to_string(6 * n) +
                      "]}}",
                  weights + updates)));
  const std::size_t w = file->tensors()[0].name == "w" ? 0 : 1;
  std::uint64_t done = 0;
  const UpdateCounts counts = count_updates({file.get(), w}, {file.get(), 1 - w},
                                            [&](std::uint64_t bytes) { done += bytes; });
  CHECK(counts.values == n);
  CHECK(counts.updates == n);
  CHECK(counts.below_2_11 == small);
  CHECK(counts.kept_in[0].lost == small);
  CHECK(counts.kept_in[1].lost == small);
  CHECK(done == 6 * n);
}

}  // namespace
}  // namespace binade::test::update_ratio_test
