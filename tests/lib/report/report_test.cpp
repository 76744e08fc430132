// SPDX-License-Identifier: Apache-2.0
//
// The conclusions of a report: loss scales and the tensors that limit them, advice, numbers in
// words; and reading whole files.
#include "lib/report/report.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/text/paragraph.h"
#include "tests/lib/io/files.h"
#include "tests/lib/range/values.h"
#include "tests/lib/report/made_report.h"

namespace binade::test::report_test {
namespace {

TEST_CASE(
    "the joint scale is bounded by the largest and by the most fragile tensor, which are named") {
  const Report report = report_of(
      {{"middle", {0x1p-3F, 0x1p-4F}}, {"tall", {100, 1}}, {"fragile", {0x1p-30F, 0x1.8p-31F}}});
  const LossScale& scale = report.loss_scale;
  REQUIRE(scale.interval);
  CHECK(scale.status == "ok");
  CHECK(scale.binding_max == "tall");
  CHECK(scale.binding_min == "fragile");
  CHECK(scale.interval->max_log2 == 8);  // 100·2^9 < 65520 <= 100·2^10: one binade is kept free
  CHECK(scale.interval->min_log2 == 6);  // 2^-30·2^5 is the tie that becomes zero
}

TEST_CASE("an empty joint interval says so, gives both ends and the loss at the upper one") {
  const Report report = report_of({{"tall", {1000, 1}}, {"fragile", {0x1p-30F, 0x1.8p-31F}}});
  const LossScale& scale = report.loss_scale;
  REQUIRE(scale.interval);
  CHECK(scale.interval->empty());
  CHECK(scale.status == "empty interval");
  CHECK(scale.recommended_log2 == 5);
  CHECK(*scale.lost_l2 == losses(report.total.summary, binary16, 5)->l2);
  for (const char* part : {"tall", "fragile", "2^5 = 32", "2^6 = 64", "No single scale"}) {
    INFO(std::string(part));
    CHECK(has(scale.reason, part));
  }
}

TEST_CASE("between the ends the upper one is recommended, the lower one on request") {
  const std::vector<Named> tensors{{"a", {0x1p-20F, 0x1p-3F}}, {"b", {0x1p-22F, 0x1p-4F}}};
  const Report high = report_of(tensors, {.target_loss = 0});
  const Report low = report_of(tensors, {.target_loss = 0, .prefer = ScaleChoice::s_min});
  CHECK(high.loss_scale.interval->max_log2 == 17);
  CHECK(high.loss_scale.interval->min_log2 == -2);
  CHECK(high.loss_scale.recommended_log2 == 17);
  CHECK(low.loss_scale.recommended_log2 == -2);
  CHECK(high.loss_scale.binding_max == "a");
  CHECK(low.loss_scale.binding_min == "b");
  CHECK(*high.loss_scale.lost_l2 == 0);
}

TEST_CASE("the joint interval is the intersection of the tensors' own, whatever their values") {
  std::vector<Named> tensors;
  tensors.reserve(12);
  for (int i = 0; i < 12; ++i) {
    tensors.push_back({"t" + std::to_string(i),
                       random_values<float>(50, -40 - i, 5 - 2 * i, 7 + static_cast<unsigned>(i))});
  }
  for (const int room : {0, 1, 5}) {
    const Report report = report_of(tensors, {.headroom = room, .target_loss = 1e-6});
    int low = -1000;
    int high = 1000;
    for (const TensorReport& t : report.tensors) {
      low = std::max(low, t.loss_scale.interval->min_log2);
      high = std::min(high, t.loss_scale.interval->max_log2);
    }
    CHECK(report.loss_scale.interval->min_log2 == low);
    CHECK(report.loss_scale.interval->max_log2 == high);
    for (const TensorReport& t : report.tensors) {
      if (t.name == report.loss_scale.binding_min) CHECK(t.loss_scale.interval->min_log2 == low);
      if (t.name == report.loss_scale.binding_max) CHECK(t.loss_scale.interval->max_log2 == high);
      CHECK(fates(t.summary, binary16, high + room).overflow == 0);
      CHECK(losses(t.summary, binary16, low)->l2 <= 1e-6);
    }
  }
}

TEST_CASE("tensors without finite non-zero values bind nothing") {
  const Report report = report_of({{"zeros", {0, 0}}, {"nan", {NAN}}, {"empty", {}}, {"one", {1}}});
  CHECK(report.tensors[0].status == "all zero");
  CHECK(report.tensors[1].status == "no finite value");
  CHECK(report.tensors[2].status == "empty");
  CHECK(report.tensors[3].status == "ok");
  CHECK(report.loss_scale.status == "ok");
  CHECK(report.loss_scale.binding_max == "one");
  CHECK(report.loss_scale.binding_min == "one");
  CHECK(report.loss_scale.interval->max_log2 == 14);
  CHECK(report.loss_scale.interval->min_log2 == -24);
}

TEST_CASE("a report of nothing but zeros and NaN has no loss scale and says why") {
  const Report report = report_of({{"zeros", {0, 0}}, {"nan", {NAN}}});
  CHECK(report.total.status == "all zero");
  CHECK(report.loss_scale.status == "no finite value");
  CHECK_FALSE(report.loss_scale.interval);
  CHECK_FALSE(report.loss_scale.recommended_log2);
  CHECK_FALSE(report.loss_scale.reason.empty());
}

TEST_CASE("advice names the narrowest format that serves at some scale") {
  const auto advice = [](std::vector<float> values) {
    return report_of({{"t", std::move(values)}}).tensors[0];
  };
  CHECK(advice({1, 2, 3}).advice_format == "e4m3");
  CHECK(advice({1, 2, 3}).advice == "e4m3: as it is");
  CHECK(advice({0x1p-40F}).advice_format == "e4m3");  // at a scale of its own
  CHECK(advice({0x1p-8F, 0x1p8F}).advice_format == "e4m3");
  std::vector<float> wide{0x1p20F};
  wide.resize(1000, 0x1p11F);  // most of the rest would die in e4m3 at any scale
  CHECK(report_of({{"t", wide}}, {.target_loss = 0}).tensors[0].advice_format == "e4m3");
  wide.resize(2000, 0x1p-10F);
  CHECK(report_of({{"t", wide}}, {.target_loss = 0}).tensors[0].advice_format == "e5m2");
  wide.resize(3000, 0x1p-18F);
  CHECK(report_of({{"t", wide}}, {.target_loss = 0}).tensors[0].advice_format == "binary16");
  wide.resize(4000, 0x1p-60F);
  CHECK(report_of({{"t", wide}}, {.target_loss = 0}).tensors[0].advice_format == "bfloat16");
}

TEST_CASE("only the formats asked for are reported") {
  const Report report =
      report_of({{"t", {1}}}, {.formats = {report_formats[4], report_formats[0]}});
  REQUIRE(report.tensors[0].formats.size() == 2);
  CHECK(report.tensors[0].formats[0].name == "e4m3");
  CHECK(report.tensors[0].formats[1].name == "binary16");
}

TEST_CASE("powers of two read as people write them") {
  CHECK(power_of_two(17) == "2^17 = 131072");
  CHECK(power_of_two(0) == "2^0 = 1");
  CHECK(power_of_two(-3) == "2^-3");
  CHECK(power_of_two(100) == "2^100");
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), 4 * values.size()};
}

TEST_CASE(
    "reading files gives one report per tensor, the total, and the list of what was skipped") {
  const Folder folder;
  const std::string first = folder.write(
      "a.safetensors", safetensors(R"({"ids":{"dtype":"I32","shape":[2],"data_offsets":[16,24]},)"
                                   R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})",
                                   floats({1, 0x1p-26F, 0, -2}) + little(7, 4) + little(8, 4)));
  const std::string second =
      folder.write("b.npy", npy(dict("<f4", "(3,)"), floats({NAN, 4, 70000})));
  std::uint64_t done = 0;
  std::uint64_t all = 0;
  const Report report =
      read_report(open_inputs({first, second}, {}), [&](std::uint64_t n, std::uint64_t of) {
        CHECK(n > done);
        done = n;
        all = of;
      });
  CHECK(done == 28);
  CHECK(all == 28);
  REQUIRE(report.tensors.size() == 2);
  CHECK(report.tensors[0].name == "w");
  CHECK(report.tensors[0].shape == std::vector<std::uint64_t>{2, 2});
  CHECK(report.tensors[0].summary ==
        summary_of(std::vector<float>{1, 0x1p-26F, 0, -2}, columns_of({})));
  CHECK(report.tensors[1].name == "b");
  CHECK(report.tensors[1].summary.nan == 1);
  CHECK(report.total.summary ==
        summary_of(std::vector<float>{1, 0x1p-26F, 0, -2, NAN, 4, 70000}, columns_of({})));
  REQUIRE(report.skipped.size() == 1);
  CHECK(report.skipped[0].name == "ids");
  CHECK(report.skipped[0].dtype == "I32");
  CHECK(report.skipped[0].reason == "integer");
}

TEST_CASE("files without a floating tensor are an error") {
  const Folder folder;
  const std::string ints = folder.write("i.npy", npy(dict("<i4", "(1,)"), little(1, 4)));
  const std::string error = error_of([&] { read_report(open_inputs({ints}, {})); });
  CHECK(has(error, "i.npy"));
  CHECK(has(error, "no floating-point tensor"));
}

}  // namespace
}  // namespace binade::test::report_test
