// SPDX-License-Identifier: Apache-2.0
//
// The time axis: which tensors make which series, from which tensors a step's loss scale is taken,
// which updates are matched with a weight, and the JSON.
#include "lib/report/time.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <memory>

#include "lib/report/text.h"
#include "lib/report/time_text.h"
#include "tests/lib/io/files.h"
#include "tests/lib/report/made_json.h"
#include "tests/lib/report/made_report.h"
#include "tests/lib/report/made_run_counts.h"
#include "tests/lib/report/made_steps.h"

namespace binade::test::time_test {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Run& run) { return Json::parse(json_text(run.report(), run.tensors())); }

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
  CHECK(all.points[1].values == 5);
  CHECK(all.points[1].nonzero() == 4);
  CHECK(all.points[1].formats[0].to_zero == 2);
  const std::vector<TensorReport> tensors = small_run().tensors();
  RangeSummary sum = tensors[0].summary;
  merge(sum, tensors[1].summary);
  CHECK(all.last.summary == sum);
  CHECK(series(*report.time, "b", TensorRole::act).points.size() == 1);
}

TEST_CASE("a layer's gradients say at each step between which scales they live, others do not") {
  const Report report = small_run().report();
  const TimePoint& point = series(*report.time, "b", TensorRole::d_weight).points[0];
  CHECK(point.step == 10);
  CHECK(point.s_max_log2 == 34);  // 2^-20 · 2^34 · 2 < 65520
  CHECK(point.s_min_log2 == -4);
  CHECK_FALSE(series(*report.time, {}, TensorRole::d_weight).points[1].s_max_log2);
  CHECK_FALSE(series(*report.time, "b", TensorRole::act).points[0].s_max_log2);
}

TEST_CASE("a series holds its whole run and its last step as tensors, analysed") {
  Run run = small_run();
  run.add("3.safetensors", {{"step12/a/dW", {0x1p-3F}}});
  const Report report = run.report();
  const TimeSeries& of_a = series(*report.time, "a", TensorRole::d_weight);
  CHECK(of_a.run.name == "a dW");
  CHECK(of_a.run.summary.values == 4);
  CHECK(of_a.run.loss_scale.interval->max_log2 == 14);
  CHECK_FALSE(of_a.run.shape);  // that of step 10 is another
  CHECK(of_a.run.dtype == "F32");
  CHECK(of_a.run.status == "ok");
  CHECK_FALSE(of_a.run.time);
  CHECK(of_a.last.time == TensorTime{12, "a", TensorRole::d_weight});
  CHECK(of_a.last.summary.values == 1);
  CHECK(of_a.last.shape == std::vector<std::uint64_t>{1});
  CHECK(of_a.last.loss_scale.interval->max_log2 == 17);
  CHECK(series(*report.time, {}, TensorRole::d_weight).run.name == "dW");
}

TEST_CASE("what belongs to a run is told and let go, what does not stays whole, rows stay of all") {
  const Run run = small_run();
  const Report report = run.report();
  REQUIRE(report.tensors.size() == 1);
  CHECK(report.tensors[0].name == "note");
  const std::vector<TensorReport> told = run.tensors();
  REQUIRE(report.rows.size() == 7);
  REQUIRE(told.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(report.rows[i].name == told[i].name);
    CHECK(report.files[report.rows[i].file] == told[i].file);
    CHECK(report.rows[i].nonzero == told[i].summary.nonzero());
    CHECK(report.rows[i].at_one.to_zero == told[i].formats[0].to_zero.count);
    CHECK(report.rows[i].at_one.lost == told[i].formats[0].lost->l2);
  }
}

TEST_CASE("several tensors of one layer, role and step are one point, whatever comes between") {
  Run run;
  run.add("1.safetensors", {{"step1/a/dW", {0x1p-26F}}, {"step2/a/dW", {1}}});
  run.add("2.safetensors", {{"step01/a/dW", {0x1p-3F, 2}}});
  const Report report = run.report();
  const TimeSeries& of_a = series(*report.time, "a", TensorRole::d_weight);
  REQUIRE(of_a.points.size() == 2);
  CHECK(of_a.points[0].values == 3);
  CHECK(of_a.points[0].formats[0].to_zero == 1);
  CHECK(of_a.points[0].max_binade == 1);
  CHECK(of_a.points[0].s_max_log2 == 13);
  CHECK(report.time->loss_scales[0].scale.binding_max == "step01/a/dW");
}

TEST_CASE("layers that merely stand in alphabetical order are put in that of their numbers") {
  using Names = std::vector<std::string>;
  Run run;
  run.add("1.safetensors", {{"step1/b.0/dW", {1}},
                            {"step1/b.10/dW", {1}},
                            {"step1/b.10.x/dW", {1}},
                            {"step1/b.9/dW", {1}},
                            {"step2/a/dW", {1}}});  // a layer that comes late
  CHECK(run.report().time->layers == Names{"a", "b.0", "b.9", "b.10", "b.10.x"});
  Run ordered;
  ordered.add("1.safetensors",
              {{"step1/b.9/dW", {1}}, {"step1/b.10/dW", {1}}, {"step2/a/dW", {1}}});
  CHECK(ordered.report().time->layers == Names{"b.9", "b.10", "a"});
  Run sorted;
  sorted.add("1.safetensors", {{"step1/a/dW", {1}},
                               {"step1/b.0/dW", {1}},
                               {"step1/b.10.x/dW", {1}},
                               {"step1/b.9/dW", {1}},
                               {"step2/a/dW", {1}}});
  CHECK(sorted.report().time->layers == Names{"a", "b.0", "b.9", "b.10.x"});
}

TEST_CASE("one tensor in two files is of two runs, which are not merged") {
  Run run = small_run();
  run.add("3.safetensors", {{"step2/c/dW", {1}}, {"step10/a/dW", {0x1p-27F}}});
  CHECK(error_of([&] { run.report(); }) ==
        run.files[0] + " and " + run.files[2] +
            ": both hold step10/a/dW; they are of two runs, report one run at a time");
}

TEST_CASE("where no two steps are told, files may hold tensors of one name") {
  Run run;
  run.add("1.safetensors", {{"step1/a/dW", {1}}, {"x", {1}}});
  run.add("2.safetensors", {{"step1/a/dW", {2}}, {"x", {1}}});
  CHECK(run.report().tensors.size() == 4);
  run.add("3.safetensors", {{"step2/a/dW", {2}}, {"x", {1}}});
  CHECK(has(error_of([&] { run.report(); }), "step1/a/dW"));
}

TEST_CASE("weights and activations do not touch the loss scale, of a step or of the run") {
  const Report report = small_run().report();
  const std::vector<StepScale>& scales = report.time->loss_scales;
  REQUIRE(scales.size() == 2);
  CHECK(scales[0].scale.interval->max_log2 == 17);  // 2^-3·2^17·2 < 65520
  CHECK(scales[1].scale.interval->max_log2 == 14);
  CHECK(scales[1].scale.interval->min_log2 == -24);
  CHECK(scales[1].scale.negligible.tensors == 1);  // with 2^-20 beside 1
  CHECK(scales[1].scale.negligible.first == "step10/b/dW");
  CHECK(scales[1].scale.binding_max == "step10/a/dW");
  CHECK(report.loss_scale.interval->max_log2 == 14);
  CHECK(report.loss_scale.binding_max == "step10/a/dW");
  REQUIRE(report.gradients);
  CHECK(report.gradients->summary.values == 6);
  CHECK(&report.scaled() == &*report.gradients);
}

TEST_CASE("a run of PyTorch's names is a run: weight, gradient, update and state of a layer") {
  Run run;
  for (const char* step : {"1", "2"}) {
    const std::string begin = std::string("step") + step + "/fc1.weight";
    run.add(std::string(step) + ".safetensors", {{begin, {1, 2}},
                                                 {begin + ".grad", {0x1p-3F, 0x1p-26F}},
                                                 {begin + ".update", {0x1p-12F, 8}},
                                                 {begin + ".exp_avg", {0x1p-30F, 1}}});
  }
  const Report report = run.report();
  REQUIRE(report.time);
  CHECK(report.time->layers == std::vector<std::string>{"fc1.weight"});
  CHECK(series(*report.time, "fc1.weight", TensorRole::state).points.size() == 2);
  CHECK(report.time->updates.size() == 2);
  CHECK(report.time->loss_scales[0].scale.interval->max_log2 == 17);
  CHECK(report.hint.empty());
}

TEST_CASE("roles stand in the JSON, each of all its tensors") {
  Run run;
  run.add("1.safetensors", {{"z", {0x1p-30F}}, {"a.grad", {0x1p-26F, 1}}, {"b.grad", {1}}});
  const Json json = json_of(run);
  CHECK(json["roles"][0]["name"] == "grad");
  CHECK(json["roles"][0]["tensors"] == 2);
  CHECK(json["roles"][0]["formats"]["binary16"]["to_zero"]["count"] == 1);
  CHECK(json["tensors"][0]["role"].is_null());
  CHECK(json["tensors"][1]["role"] == "grad");
  CHECK(json["loss_scale"]["basis"].get<std::string>().starts_with("Taken from 2 gradients."));
  Run gradients;
  gradients.add("1.safetensors", {{"a.grad", {1}}});
  CHECK(json_of(gradients)["loss_scale"]["basis"].is_null());
}

TEST_CASE("names that seem to tell a step and do not get a hint") {
  Run run;
  run.add("1.safetensors", {{"step_1/a/dW", {1}}, {"step2/a/dW", {1}}, {"iter3/loss", {1}}});
  const std::string hint =
      "2 of 3 names hold a step and yet tell no place in time ('step_1/a/dW'): name "
      "tensors "
      "step10/fc1/dW or step10/fc1.weight.grad (binade report --help).";
  CHECK(run.report().hint == hint);
  CHECK(json_of(run)["hint"] == hint);
  CHECK(has(report_text(run.report(), {}), "2 of 3 names hold a step"));
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

TEST_CASE("names that tell no two steps have no time axis") {
  Run run;
  run.add("1.safetensors", {{"a/dW", {1}}, {"step1/a/weight", {1}}, {"x", {1}}});
  const Report report = run.report();
  CHECK_FALSE(report.time);
  const Json json = to_json(report);
  CHECK_FALSE(json.contains("time"));
  CHECK_FALSE(json["tensors"][0].contains("time"));
  CHECK(json["tensors"][1]["time"]["layer"] == "a");
  CHECK_FALSE(has(report_text(report, {}), "Over time"));
}

TEST_CASE("one step has no time axis, but gradients, for which alone the loss scale is") {
  Run run;
  run.add("1.safetensors", {{"step1/a/dW", {1}}, {"step1/a/update", {0x1p-90F}}, {"x", {0x1p40F}}});
  const Report report = run.report();
  CHECK_FALSE(report.time);
  REQUIRE(report.gradients);
  CHECK(report.loss_scale.interval->max_log2 == 14);
  CHECK(report.loss_scale.binding_min == "step1/a/dW");
  const Json json = to_json(report);
  CHECK_FALSE(json.contains("time"));
  CHECK(json["tensors"][0]["time"] == Json{{"step", 1}, {"layer", "a"}, {"role", "dW"}});
  CHECK(json["gradients"]["values"] == 1);
  const std::string text = report_text(report, {});
  CHECK(has(text, "of all gradients together"));
  CHECK_FALSE(has(text, "Over time"));
}

TEST_CASE(
    "steps whose gradients hold NaN or Inf are passed over by the loss scale, which says so") {
  const Run run = diverging_run();
  const Report report = run.report();
  CHECK(report.passed_over == std::vector<std::uint64_t>{4, 6});
  CHECK(report.loss_scale.status == "ok");
  CHECK(report.loss_scale.interval->max_log2 == 17);  // of 2^-3, not of step 4's 2^5
  CHECK(
      has(report.loss_scale.reason,
          "sets it. From 2^-14 on no tensor loses more than 0.1 % of its L2 norm; step2/a/dW needs "
          "that. Passed over, because their gradients hold NaN or Inf: steps 4, 6."));
  CHECK(report.gradients->summary.values == 3);
  const std::vector<StepScale>& scales = report.time->loss_scales;
  REQUIRE(scales.size() == 4);
  CHECK(scales[0].scale.status == "ok");
  for (const std::size_t i : {1U, 2U}) {
    CHECK(scales[i].scale.status == "not finite");
    CHECK_FALSE(scales[i].scale.interval.has_value());
    CHECK_FALSE(scales[i].scale.recommended_log2.has_value());
  }
  CHECK(scales[3].scale.status == "ok");
  const Json json = json_of(run);
  CHECK(json["gradients"]["passed_over"] == Json{4, 6});
  CHECK(json["time"]["loss_scale"][1]["s_max_log2"].is_null());
}

TEST_CASE("a run of NaN alone gets no loss scale, and hears why") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Run run;
  run.add("1.safetensors", {{"step1/a/dW", {nan, 1}}, {"step2/a/dW", {nan}}, {"x", {1}}});
  const Report report = run.report();
  CHECK(report.loss_scale.status == "not finite");
  CHECK_FALSE(report.loss_scale.recommended_log2.has_value());
  CHECK(has(report_text(report, {}),
            "\nLoss scale for binary16: none\n  Gradients hold NaN or Inf in every step (steps 1, "
            "2): no scale can be told.\n"));
}

TEST_CASE("many steps that are passed over are counted") {
  Run run;
  std::vector<Named> tensors{{"step0/a/dW", {1}}};
  for (int step = 5; step < 25; ++step) {
    tensors.push_back(
        {"step" + std::to_string(step) + "/a/dW", {std::numeric_limits<float>::infinity()}});
  }
  run.add("1.safetensors", tensors);
  CHECK(has(run.report().loss_scale.reason, "NaN or Inf: 20 steps from 5 to 24."));
}

TEST_CASE("the JSON has a column per number and says where each tensor stands") {
  const Json json = json_of(small_run());
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

TEST_CASE("what weights lost in the dtype that they have is told where they lost any") {
  const auto text = [](const Report& report) { return time_text(*report.time, false); };
  const auto report_on = [](const MadeRun& made) {
    return read_report(inputs_of(std::make_shared<const RunCounts>(made.run),
                                 std::make_shared<const std::vector<RangeSummary>>(made.summaries),
                                 {}));
  };
  CHECK_FALSE(has(text(report_on(made_run())), "unmoved"));
  MadeRun made = made_run();
  HeldUpdates& held = made.run.updates[0].counts.held;
  held = {.asked = 8, .lost = 6, .unknown = 2, .decay_asked = 4, .decay_lost = 1, .idle = 3};
  held.lost_by_size[5] = 4;
  const Report report = report_on(made);
  CHECK(has(text(report), "unmoved by gradient   75.0     -"));
  CHECK(has(text(report), "           decay      25.0     -"));
  CHECK(has(text(report), "below 2^-4 of the weight"));
  const Json json = Json::parse(json_text(report));
  const auto& of = json["time"]["updates"];
  CHECK(of[0]["held"]["lost"] == Json::array({6, 0}));
  CHECK(of[0]["held"]["median_log2_of_ulp"] == Json::array({-4, nullptr}));
  CHECK(of[0]["held"]["idle"] == Json::array({3, 0}));
  CHECK(of[1].contains("held") != of[2].contains("held"));
}

}  // namespace
}  // namespace binade::test::time_test
