// SPDX-License-Identifier: Apache-2.0
//
// Rules that hold for every counted run, and the report on one in memory: roles and time are the
// run's, whatever the tensors' names suggest.
#include "lib/report/run_counts.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>

#include "lib/report/report.h"
#include "lib/report/text.h"
#include "tests/lib/io/files.h"
#include "tests/lib/report/made_run_counts.h"

namespace binade::test::run_counts_test {
namespace {

Report report_on(const MadeRun& made, const ReportOptions& options = {}) {
  return read_report(inputs_of(std::make_shared<const RunCounts>(made.run),
                               std::make_shared<const std::vector<RangeSummary>>(made.summaries),
                               options));
}

TEST_CASE("roles, layers and steps are the run's, and no word or rule in a name changes them") {
  const Report report =
      report_on(made_run(), {.roles = {parse_role_rule("--role", "state=exp_avg")}});
  CHECK(report.rows.size() == 16);
  REQUIRE(report.time);
  CHECK(report.time->steps == std::vector<std::uint64_t>{0, 100});
  CHECK(report.time->layers == std::vector<std::string>{"fc1.exp_avg", "step7/dW (scaled)"});
  CHECK(report.roles.size() == 4);
  for (const RoleReport& role : report.roles) CHECK(role.tensors == 4);
  CHECK(has(report.hint, "fits no name, and a counted run tells roles itself"));
  CHECK(report.rows[4].name == "step000000/step7/dW (scaled)/weight");
}

TEST_CASE("gradients that stay in FP32 bind no loss scale, of a step or of the run") {
  MadeRun made = made_run();
  for (const std::uint64_t step : {0U, 100U}) {
    made.add(step, "loss", TensorRole::d_act, {1024});
    made.run.tensors.back().binds_scale = false;
  }
  std::ranges::stable_sort(made.run.tensors, {}, [](const RunTensor& t) { return t.time.step; });
  std::ranges::rotate(made.summaries.begin() + 8, made.summaries.end() - 2,
                      made.summaries.end() - 1);
  const Report report = report_on(made);
  const Report without = report_on(made_run());
  CHECK(report.rows.size() == without.rows.size() + 2);
  CHECK(report.scaled_tensors == without.scaled_tensors);
  CHECK(report.loss_scale.interval->max_log2 == 13);  // of the largest, 2
  CHECK(report.loss_scale.reason == without.loss_scale.reason);
  CHECK(report.time->loss_scales[1].scale.interval->max_log2 == 13);
  CHECK(has(report.loss_scale.basis,
            "2 gradients of what a narrow format never holds, or of rounding alone (first "
            "step000000/loss/dAct) bind no scale."));
  made.run.tensors[8].binds_scale = true;
  CHECK(report_on(made).loss_scale.interval->max_log2 == 4);
}

TEST_CASE("loss scales in use and updates come from the run") {
  const Report report = report_on(made_run());
  REQUIRE(report.time->loss_scales.size() == 2);
  CHECK(report.time->loss_scales[0].used == 65536.0);
  CHECK(report.time->loss_scales[1].used == 32768.0);
  REQUIRE(report.time->updates.size() == 3);
  CHECK(report.time->updates[0].points[1].counts.updates == 4);
  CHECK(report.time->updates[1].points[0].counts == made_run().run.updates[0].counts);
  CHECK(report.time->unpaired.empty());
  MadeRun without = made_run();
  without.run.updates.pop_back();
  const Report other = report_on(without);
  REQUIRE(other.time->unpaired.size() == 1);
  CHECK(other.time->unpaired[0].name == "step000100/step7/dW (scaled)/update");
  CHECK(other.time->unpaired[0].reason == "not held against its weight in the run");
}

TEST_CASE("a shape that differs is none") {
  const Report report = report_on(made_run());
  const auto at =
      std::ranges::find(report.time->series, std::string("fc1.exp_avg"), &TimeSeries::layer);
  REQUIRE(at != report.time->series.end());
  CHECK(at->role == TensorRole::act);
  CHECK_FALSE(at->run.shape);
  CHECK((at + 1)->run.shape == std::vector<std::uint64_t>{3});
}

TEST_CASE("a run without squared errors has a report without SQNR, and none at other scales") {
  const Report report = report_on(made_run());
  CHECK(report.options.scales_log2.empty());
  CHECK(report.total.formats[0].sqnr_db.empty());
  const std::string error = error_of([] { report_on(made_run(), {.scales_log2 = {0, 8}}); });
  CHECK(has(error, "--sqnr-scale: no squared errors in run; watch with sqnr=True"));
  const Report with = report_on(made_run(error_columns({})));
  CHECK(with.options.scales_log2 == std::vector{0});
  CHECK(with.total.formats[4].sqnr_db[0].has_value());
}

TEST_CASE("summaries with squared errors and without are not of one report") {
  const std::string error = error_of([] {
    inputs_of({{"plain", empty_summary({})}, {"full", empty_summary(error_columns({}))}}, {});
  });
  CHECK(error ==
        "the summary of plain has no squared errors, and that of full has some; report on them "
        "apart");
  CHECK(read_report(inputs_of({{"plain", empty_summary({})}}, {})).options.scales_log2.empty());
}

TEST_CASE("what no run can be is refused in a line") {
  const auto refused = [](const std::function<void(RunCounts&)>& change) {
    RunCounts run = made_run().run;
    check_run(run);
    change(run);
    return error_of([&run] { check_run(run); });
  };
  CHECK(has(refused([](auto& run) { run.watched.every = 0; }), "every 0th step"));
  CHECK(has(refused([](auto& run) { std::swap(run.watched.windows[0], run.watched.windows[1]); }),
            "steps do not rise at window 0 to 50"));
  CHECK(has(refused([](auto& run) { run.watched.windows[0].last = 100; }),
            "steps do not rise at window 100 to 150"));
  CHECK(has(refused([](auto& run) { run.watched.windows[0].steps = 52; }), "has no 52 steps"));
  CHECK(has(refused([](auto& run) { run.watched.windows[1].loss_scale = -1; }),
            "no such loss scale"));
  CHECK(has(refused([](auto& run) { run.watched.windows.pop_back(); }), "is of no window"));
  CHECK(
      has(refused([](auto& run) { run.tensors[0].time.step = 100; }), "comes after a later step"));
  CHECK(
      has(refused([](auto& run) { run.tensors[1].time = run.tensors[0].time; }), "is there twice"));
  CHECK(has(refused([](auto& run) { run.tensors[0].time.layer = ""; }), "is of no layer"));
  CHECK(has(refused([](auto& run) { run.tensors[0].values = run.tensors[1].values = ~0ULL; }),
            "2^64 values or more"));
  CHECK(has(refused([](auto& run) { run.tensors[0].dtype = *find_dtype("I32"); }),
            "is of no floating dtype"));
  CHECK(has(refused([](auto& run) {
              run.tensors[0].shape = {~0ULL, ~0ULL};
            }),
            "has a shape that no tensor has"));
  CHECK(has(refused([](auto& run) { run.updates[1].layer = run.updates[0].layer; }),
            "is there twice"));
}

/// A run of one step, in which b's gradient has these values, beside one of half precision that is
/// large.
Report report_beside(const std::vector<float>& values, const char* dtype,
                     std::optional<double> used = {}, TensorRole role = TensorRole::d_act) {
  MadeRun made;
  made.run.watched.windows = {{0, 0, 1, used}};
  made.add(0, "a", TensorRole::d_weight, {0x1p-3F, 0x1p-4F});
  made.run.tensors.back().dtype = *find_dtype("F16");
  made.add(0, "b", role, values);
  made.run.tensors.back().dtype = *find_dtype(dtype);
  return report_on(made);
}
LossScale scale_beside(const std::vector<float>& values, const char* dtype,
                       std::optional<double> used = {}, TensorRole role = TensorRole::d_act) {
  return report_beside(values, dtype, used, role).loss_scale;
}

TEST_CASE("gradients at the floor of half precision leave open which scales are too small") {
  const std::vector<float> ill{0, 0, 0x1p-24F, -0x1p-24F, 0x1.8p-23F, 0x1p-22F};
  const LossScale found = scale_beside(ill, "F16");
  CHECK(found.at_floor.tensors == 1);
  CHECK(found.at_floor.first == "step000000/b/dAct");
  CHECK(found.interval->max_log2 == 17);  // what is largest is seen
  CHECK(has(found.reason, "From which scale on too little is lost is not known: of 1 gradient "));
  CHECK(!has(found.reason, "no tensor loses"));
  const NarrowestFormats verdict = report_beside(ill, "F16").verdict;
  CHECK(has(verdict_sentences(verdict, {}, true)[1],
            " Of 1 of 1 more than 10 % of the norm lies at the smallest subnormals of the "
            "format that held it: "));
  CHECK(has(report_text(report_beside(ill, "F16"), {}), "?…2^36 "));
  CHECK(!has(report_text(report_beside({0, 0x1p-15F}, "F16"), {}), "?…"));
  // Zeros alone are no sign, as of a ReLU; nor is a floor that no value was lost below.
  for (const std::vector<float>& healthy :
       {std::vector<float>{0, 0, 0, 0, 0x1p-15F, 0x1p-16F, 0x1p-24F},
        std::vector<float>{0x1p-24F, 0x1p-23F}}) {
    CHECK(scale_beside(healthy, "F16").at_floor.tensors == 0);
    CHECK(has(scale_beside(healthy, "F16").reason, "no tensor loses"));
  }
  // What is divided by the loss scale has a floor that is as much lower.
  CHECK(scale_beside({0, 0x1p-24F}, "F16", 1024.0).at_floor.tensors == 0);
  CHECK(scale_beside({0, 0x1p-34F}, "F16", 1024.0).at_floor.tensors == 1);
  CHECK(scale_beside({0, 0x1p-132F}, "BF16").at_floor.tensors == 1);
  CHECK(scale_beside({0, 0x1p-24F}, "BF16").at_floor.tensors == 0);
  // Of a weight's gradient as little as rounding leaves is not asked.
  CHECK(scale_beside(ill, "F16", {}, TensorRole::d_weight).at_floor.tensors == 0);
}

TEST_CASE("gradients in FP32 that were FP16 are told by their smallest value") {
  std::vector<float> cast(100, 0x1p-23F);
  cast[0] = 0;
  CHECK(scale_beside(cast, "F32").at_floor.tensors == 1);
  cast[1] = 0x1p-26F;  // FP16 has no such value
  CHECK(scale_beside(cast, "F32").at_floor.tensors == 0);
  CHECK(scale_beside({0, 0x1p-23F}, "F32").at_floor.tensors == 0);  // too few to tell
  CHECK(scale_beside({0, 0x1p-23F}, "F64").at_floor.tensors == 0);
}

}  // namespace
}  // namespace binade::test::run_counts_test
