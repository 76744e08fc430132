// SPDX-License-Identifier: Apache-2.0
//
// The time axis: which tensors make which series, what a step's loss scale is made of, which updates
// find their weight, and what the text and the JSON say of it.
#include "lib/report/time.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>

#include "lib/report/text.h"
#include "lib/report/time_text.h"
#include "tests/lib/report/made_report.h"

namespace binade::test {
namespace {

using Json = nlohmann::ordered_json;

/// A file of F32 tensors, and the report on it.
struct Run {
  std::unique_ptr<Folder> folder = std::make_unique<Folder>();
  std::vector<std::string> files;

  void add(const std::string& name, const std::vector<Named>& tensors) {
    std::string header = "{", data;
    for (const Named& t : tensors) {
      const std::size_t begin = data.size();
      data.append(reinterpret_cast<const char*>(t.values.data()), 4 * t.values.size());
      header += (header.size() > 1 ? "," : "") + Json(t.name).dump() +
                R"(:{"dtype":"F32","shape":[)" + std::to_string(t.values.size()) +
                R"(],"data_offsets":[)" + std::to_string(begin) + "," +
                std::to_string(data.size()) + "]}";
    }
    files.push_back(folder->write(name, safetensors(header + "}", data)));
  }
  Report report() const { return read_report(files, {}); }
};

Run small_run() {
  Run run;
  run.add("1.safetensors", {{"step10/a/dW", {0x1p-26F, 1}},
                            {"step10/b/dW", {0x1p-30F, 0x1p-20F, 0}},
                            {"step10/a/weight", {1, 1000}},
                            {"step10/a/update", {0x1p-12F, 8}},
                            {"note", {7}}});
  run.add("2.safetensors", {{"step2/a/dW", {0x1p-3F}}, {"step2/b/act", {0x1p-28F}}});
  return run;
}

const TimeSeries& series(const TimeReport& time, const std::optional<std::string>& layer,
                         TensorRole role) {
  const auto at = std::ranges::find_if(
      time.series, [&](const TimeSeries& s) { return s.layer == layer && s.role == role; });
  REQUIRE(at != time.series.end());
  return *at;
}

TEST_CASE("steps rise, layers keep their order, all layers come first") {
  const Report report = small_run().report();
  REQUIRE(report.time);
  CHECK(report.time->steps == std::vector<std::uint64_t>{2, 10});
  CHECK(report.time->layers == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(report.time->series.front().layer.has_value());
}

TEST_CASE("a series over all layers is the merge of the layers") {
  const Report report = small_run().report();
  const TimeSeries& all = series(*report.time, {}, TensorRole::d_weight);
  REQUIRE(all.points.size() == 2);
  CHECK(all.points[1].summary.values == 5);
  CHECK(all.points[1].formats[0].rne_zero->count == 2);
  CHECK(all.points[1].formats[0].rne_zero->of_nonzero == 0.5);
  RangeSummary sum = report.tensors[0].summary;
  merge(sum, report.tensors[1].summary);
  CHECK(all.points[1].summary == sum);
  CHECK(series(*report.time, "b", TensorRole::act).points.size() == 1);
}

TEST_CASE("layers that merely stand in alphabetical order are put in that of their numbers") {
  Run run;
  run.add("1.safetensors", {{"step1/b.0/dW", {1}},
                            {"step1/b.10/dW", {1}},
                            {"step1/b.10.x/dW", {1}},
                            {"step1/b.9/dW", {1}},
                            {"step2/a/dW", {1}}});
  using Names = std::vector<std::string>;
  CHECK(run.report().time->layers == Names{"b.0", "b.10", "b.10.x", "b.9", "a"});
  Run sorted;
  sorted.add("1.safetensors", {{"step1/a/dW", {1}},
                               {"step1/b.0/dW", {1}},
                               {"step1/b.10.x/dW", {1}},
                               {"step1/b.9/dW", {1}},
                               {"step2/a/dW", {1}}});
  CHECK(sorted.report().time->layers == Names{"a", "b.0", "b.9", "b.10.x"});
}

TEST_CASE("shards of one tensor in several files are merged") {
  Run run = small_run();
  run.add("3.safetensors", {{"step10/a/dW", {0x1p-27F}}});
  const Report report = run.report();
  CHECK(series(*report.time, "a", TensorRole::d_weight).points.back().summary.values == 3);
}

TEST_CASE("weights and activations do not touch the loss scale, of a step or of the run") {
  const Report report = small_run().report();
  const std::vector<StepScale>& scales = report.time->loss_scales;
  REQUIRE(scales.size() == 2);
  CHECK(scales[0].scale.interval->max_log2 == 17);  // 2^-3·2^17·2 < 65520
  CHECK(scales[1].scale.interval->max_log2 == 14);
  CHECK(scales[1].scale.interval->min_log2 == -4);  // 2^-20·2^-5 is the tie that becomes zero
  CHECK(scales[1].scale.binding_max == "step10/a/dW");
  CHECK(report.loss_scale.interval->max_log2 == 14);
  CHECK(report.loss_scale.binding_max == "step10/a/dW");
  REQUIRE(report.gradients);
  CHECK(report.gradients->summary.values == 6);
  CHECK(&report.scaled() == &*report.gradients);
}

TEST_CASE("an update is held against the weight of its layer and step") {
  const Report report = small_run().report();
  REQUIRE(report.time->updates.size() == 2);  // all layers and a
  const UpdateCounts& counts = report.time->updates[1].points[0].counts;
  CHECK(report.time->updates[1].layer == "a");
  CHECK(counts.updates == 2);
  CHECK(counts.kept_in[0].lost == 1);
  CHECK(report.time->unpaired.empty());
}

TEST_CASE("an update without a weight, or with another shape, is named with the reason") {
  Run run = small_run();
  run.add("3.safetensors",
          {{"step2/a/update", {1}}, {"step2/c/update", {1, 2}}, {"step2/c/weight", {1}}});
  const TimeReport time = *run.report().time;
  REQUIRE(time.unpaired.size() == 2);
  CHECK(time.unpaired[0].name == "step2/a/update");
  CHECK(time.unpaired[0].reason == "its weight is missing");
  CHECK(time.unpaired[1].reason == "its weight has another shape");
}

TEST_CASE("one step, or names that tell none, have no time axis and the schema of before") {
  Run run;
  run.add("1.safetensors", {{"step1/a/dW", {1}}, {"step01/a/weight", {1}}, {"x", {1}}});
  const Report report = run.report();
  CHECK_FALSE(report.time);
  CHECK_FALSE(report.gradients);
  const Json json = to_json(report);
  CHECK(json["schema"] == "binade.range_report/1");
  CHECK_FALSE(json.contains("time"));
  CHECK_FALSE(json["tensors"][0].contains("time"));
  CHECK_FALSE(has(report_text(report, {}), "Over time"));
}

TEST_CASE("the JSON has a column per number and says where each tensor stands") {
  const Json json = to_json(small_run().report());
  CHECK(json["schema"] == "binade.range_report/2");
  CHECK(json["tensors"][0]["time"] == Json{{"step", 10}, {"layer", "a"}, {"role", "dW"}});
  CHECK_FALSE(json["tensors"][4].contains("time"));
  const Json& time = json["time"];
  CHECK(time["steps"] == Json{2, 10});
  CHECK(time["series"][1]["layer"].is_null());
  CHECK(time["series"][1]["role"] == "weight");
  const Json& of_a = *std::ranges::find_if(
      time["series"], [](const Json& s) { return s["layer"] == "a" && s["role"] == "dW"; });
  CHECK(of_a["step"] == Json{2, 10});
  CHECK(of_a["values"] == Json{1, 2});
  CHECK(of_a["rne_zero"] == Json{0, 1});
  CHECK(of_a["band_27_24"] == Json{0, 1});
  CHECK(of_a["min_binade"] == Json{-3, -26});
  CHECK(of_a["max_binade"] == Json{-3, 0});
  CHECK(of_a["formats"]["bfloat16"]["to_zero"] == Json{0, 0});
  CHECK(time["loss_scale"][1]["s_max_log2"] == 14);
  CHECK(time["updates"][1]["formats"]["binary16"]["lost"] == Json::array({1}));
  CHECK(json["gradients"]["values"] == 6);
}

TEST_CASE("at most twelve steps are chosen evenly, with the first and the last") {
  CHECK(chosen_steps(3, 12) == std::vector<std::size_t>{0, 1, 2});
  CHECK(chosen_steps(5, 3) == std::vector<std::size_t>{0, 2, 4});
  for (const std::size_t n : {12U, 13U, 44U, 1000U, 4400U}) {
    const std::vector<std::size_t> chosen = chosen_steps(n, 12);
    CHECK(chosen.size() == 12);
    CHECK(chosen.front() == 0);
    CHECK(chosen.back() == n - 1);
    CHECK(std::ranges::adjacent_find(chosen, std::greater_equal<>{}) == chosen.end());
  }
}

TEST_CASE("the text has a column per step, says how many, and stays within 100 columns") {
  Run run;
  for (int step = 0; step < 20; ++step) {
    const std::string at = "step" + std::to_string(1000000 + 5 * step);
    run.add(at + ".safetensors", {{at + "/a/dW", {0x1p-26F, 1}}, {at + "/a/act", {1}}});
  }
  const std::string text = report_text(run.report(), {});
  CHECK(has(text, "Over time   9 of 20 steps, evenly chosen; 1 layer together"));
  CHECK(has(text, " 1000000 "));
  CHECK(has(text, " 1000095\n"));
  CHECK(has(text, "  to zero    act" + std::string(13, ' ') + "0"));
  CHECK(has(text, std::string(13, ' ') + "dW" + std::string(11, ' ') + "50.0"));
  std::istringstream lines(text.substr(text.find("Over time")));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() < 120);
}

}  // namespace
}  // namespace binade::test
