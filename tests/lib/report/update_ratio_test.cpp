// SPDX-License-Identifier: Apache-2.0
//
// Reading two tensors of files side by side, a weight and its update.
#include "lib/report/update_ratio.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/lib/io/files.h"

namespace binade::test::update_ratio_test {
namespace {

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
