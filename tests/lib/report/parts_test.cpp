// SPDX-License-Identifier: Apache-2.0
//
// The division of tensors into parts: they stay in order and whole, parts have about equally many
// bytes, and pairs of weight and update stay together.
#include "lib/report/parts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "lib/report/counts_tensor_file.h"

namespace binade::test::parts_test {
namespace {

TensorInfo f32(const std::string& name, std::uint64_t elements) {
  return {.name = name,
          .dtype = *find_dtype("F32"),
          .shape = {elements},
          .elements = elements,
          .bytes = 4 * elements};
}

TensorFiles one_file(std::vector<TensorInfo> tensors) {
  TensorFiles out;
  out.push_back(std::make_unique<CountsTensorFile>("made", std::move(tensors), Counted{}));
  return out;
}

TEST_CASE("parts are runs of tensors of about equally many bytes") {
  std::vector<TensorInfo> tensors;
  for (std::uint64_t i = 0; i < 200; ++i) {
    tensors.push_back(f32("t" + std::to_string(i), i % 7 * 100 + i % 3));
  }
  const TensorFiles files = one_file(tensors);
  const ReportPlan plan = plan_report(files, {});
  for (const std::uint64_t parts : {1U, 2U, 3U, 7U, 50U}) {
    CAPTURE(parts);
    const Shares shares = shares_of(plan, parts);
    REQUIRE(shares.tensors.size() == 200);
    CHECK(std::ranges::is_sorted(shares.tensors));
    std::vector<std::uint64_t> bytes(parts);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      bytes.at(shares.tensors[i]) += tensors[i].bytes;
      total += tensors[i].bytes;
    }
    const std::uint64_t largest = std::ranges::max(tensors, {}, &TensorInfo::bytes).bytes;
    for (const std::uint64_t n : bytes) {
      CHECK(n <= total / parts + largest);
      CHECK(n + largest >= total / parts);
    }
  }
}

TEST_CASE(
    "a weight and its update are of one part wherever they stand, and weigh what is read of them") {
  std::vector<TensorInfo> tensors;
  for (const char* step : {"step1", "step2"}) {
    const std::string start = std::string(step) + "/";
    tensors.push_back(f32(start + "a/weight", 100));
    for (int i = 0; i < 20; ++i)
      tensors.push_back(f32(start + "b" + std::to_string(i) + "/dW", 10));
    tensors.push_back(f32(start + "a/update", 100));
  }
  const TensorFiles files = one_file(tensors);
  const ReportPlan plan = plan_report(files, {});
  REQUIRE(plan.updates.pairs.size() == 2);
  const Shares shares = shares_of(plan, 5);
  CHECK(shares.tensors[21] == shares.tensors[0]);
  CHECK(shares.tensors[43] == shares.tensors[22]);
  CHECK(shares.pairs == std::vector<std::uint32_t>{shares.tensors[0], shares.tensors[22]});
  CHECK(shares.tensors[10] != shares.tensors[0]);  // 400 of 1200 elements read are the pair's
}

TEST_CASE("more parts than tensors, or tensors of no byte, leave parts without any") {
  const TensorFiles files = one_file({f32("a", 0), f32("b", 0)});
  CHECK(shares_of(plan_report(files, {}), 4).tensors == std::vector<std::uint32_t>{0, 0});
  const TensorFiles two = one_file({f32("a", 1), f32("b", 1)});
  CHECK(shares_of(plan_report(two, {}), 4).tensors == std::vector<std::uint32_t>{1, 3});
}

}  // namespace
}  // namespace binade::test::parts_test
