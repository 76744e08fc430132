// SPDX-License-Identifier: Apache-2.0
//
// Which format each role needs, on tensors that are ill in a known way and on healthy ones.
#include "lib/report/verdict.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/report/text.h"
#include "tests/lib/report/made_report.h"
#include "tests/lib/report/made_run_counts.h"

namespace binade::test::verdict_test {
namespace {

/// A report as read_report() makes it, with the roles that the names tell.
Report read(const std::vector<Named>& tensors, const ReportOptions& options = {}) {
  std::vector<NamedSummary> summaries;
  RangeCounter counter(error_columns(options));
  for (const Named& tensor : tensors) {
    counter.add(std::as_bytes(std::span(tensor.values)), *find_dtype("F32"));
    summaries.push_back({tensor.name, counter.finish()});
  }
  return read_report(inputs_of(std::move(summaries), options));
}

const RoleVerdict& role(const Report& report, std::string_view name) {
  const auto at = std::ranges::find(report.verdict.roles, name, &RoleVerdict::role);
  REQUIRE(at != report.verdict.roles.end());
  return *at;
}

std::vector<float> spread(int first, int last) {
  std::vector<float> out;
  for (int e = first; e <= last; ++e) {
    for (const float m : {1.01F, 1.14F, 1.39F, 1.6F, 1.86F}) out.push_back(std::ldexp(m, e));
  }
  return out;
}

TEST_CASE(
    "a role gets the narrowest format that keeps each of its tensors, and the next narrower names "
    "what fails") {
  const Report report = read({{"a.weight", spread(-8, -2)},
                              {"b.weight", spread(-3, -2)},
                              {"a.act", spread(-2, 3)},
                              {"b.act", {0x1p20F, 1.1F}},
                              {"a.weight.grad", spread(-30, -20)},
                              {"a.bias.grad", spread(-70, -65)}});
  CHECK(role(report, "weight").format == "e4m3");
  CHECK(role(report, "act").format == "e4m3");
  const RoleVerdict& gradients = role(report, "dW");
  CHECK(gradients.format == "e4m3");
  CHECK(gradients.negligible == 1);
  // b.act at scale 1 is too large for binary16.
  const FormatVerdict& half = role(report, "act").formats[2];
  CHECK(half.failing == 1);
  REQUIRE(half.held_by.size() == 1);
  CHECK(half.held_by[0].name == "b.act");
  CHECK(half.held_by[0].cost->overflows);
  CHECK(half.scaled_by == ScaledBy::nothing);
  CHECK(gradients.formats[2].scaled_by == ScaledBy::loss_scale);
}

TEST_CASE(
    "precision decides where range serves: e5m2 for what is computed anew, and more for weights") {
  const std::vector<Named> tensors{{"w.weight", spread(-20, 2)}, {"w.act", spread(-20, 2)}};
  ReportOptions strict;
  strict.target_loss = 0;  // e4m3 has 18 binades
  const Report report = read(tensors, strict);
  CHECK(role(report, "act").format == "e5m2");
  CHECK(role(report, "weight").format == "binary16");
  const FormatVerdict& e5m2_weight = role(report, "weight").formats[1];
  CHECK(e5m2_weight.cost->sqnr_db > 24);
  CHECK(e5m2_weight.cost->sqnr_db < 28);
  strict.target_weight_sqnr = 20;
  CHECK(role(read(tensors, strict), "weight").format == "e5m2");
  strict.target_sqnr = 40;
  CHECK(role(read(tensors, strict), "act").format == "binary16");
  strict.target_sqnr = 70;
  strict.headroom = 14;  // 2^2 times 2^14 overflows binary16
  const RoleVerdict act = role(read(tensors, strict), "act");
  CHECK(act.format.empty());
  CHECK(report_text(read(tensors, strict), {}).find("act: binary32.") != std::string::npos);
}

TEST_CASE("binary16 keeps gradients at the loss scale that all of them share") {
  ReportOptions exact;
  exact.target_loss = 0;
  exact.target_sqnr = 40;  // no FP8
  const Report serves =
      read({{"a.weight.grad", spread(-24, -18)}, {"b.weight.grad", spread(-14, -8)}}, exact);
  CHECK(role(serves, "dW").format == "binary16");
  CHECK(role(serves, "dW").formats[2].scale_log2 == serves.loss_scale.recommended_log2);
  const Report wide = read({{"a.weight.grad", spread(-40, -38)},
                            {"b.weight.grad", {1.1F, 0x1.1p-45F}},
                            {"c.weight.grad", spread(-2, 0)}},
                           exact);
  CHECK(role(wide, "dW").negligible == 1);
  CHECK(role(wide, "dW").first_negligible == "a.weight.grad");
  CHECK(role(wide, "dW").format == "bfloat16");
  REQUIRE(role(wide, "dW").formats[2].held_by.size() == 1);
  CHECK(role(wide, "dW").formats[2].held_by[0].name == "b.weight.grad");
}

TEST_CASE("the verdict stands at the head of the text, with its targets and what it cannot know") {
  const Report report = read({{"w.weight", spread(-8, 2)}, {"w.act", {1, NAN}}});
  const std::string text = report_text(report, {});
  std::string said;
  for (const std::string& sentence : verdict_sentences(report.verdict, {}, false)) said += sentence;
  CHECK(text.find("act in e4m3, weight in e4m3") < text.find("Magnitudes"));
  for (const char* part : {"--target-loss", "--target-sqnr", "--target-weight-sqnr",
                           "Not known here", "1 of 1 holds NaN or Inf"}) {
    CAPTURE(part);
    CHECK(said.find(part) != std::string::npos);
  }
  CHECK(verdict_sentences(read({{"z", {0, 0}}}).verdict, {}, false).empty());
}

std::string said(const Report& report) {
  std::string out;
  for (const std::string& one : verdict_sentences(report.verdict, {}, true)) out += one + "\n";
  return out;
}

TEST_CASE(
    "a run that goes on with finite weights after NaN in a step is told from one that ends in it") {
  for (const float weight : {1.0F, NAN}) {
    MadeRun made;
    made.run.watched.windows = {{.first = 0, .last = 0}, {.first = 1, .last = 1}};
    for (const std::uint64_t step : {0U, 1U}) {
      made.add(step, "fc", TensorRole::act, {1, step == 0 ? NAN : 1.0F});
      made.add(step, "fc", TensorRole::weight, {1, step == 0 ? 1.0F : weight});
    }
    const auto told = [&made](std::uint64_t step) {
      made.run.watched.first_nonfinite = parse_first_nonfinite(
          R"({"text":"x","phase":"forward","skipped":false,"step":)" + std::to_string(step) + "}");
      return said(read_report(inputs_of(
          std::make_shared<const RunCounts>(made.run),
          std::make_shared<const std::vector<RangeSummary>>(made.summaries), ReportOptions{})));
    };
    const std::string went_on = "in step 0, and went on with finite weights.";
    CHECK((told(0).find(went_on) != std::string::npos) == (weight == 1));
    CHECK((told(0).find("no answer for a run that trains") == std::string::npos) == (weight == 1));
    CHECK(told(1).find("in step 1: this is no answer") != std::string::npos);
  }
}

TEST_CASE("the verdict on a run that was not finite says what it is worth") {
  MadeRun made;
  made.run.watched.windows = {{.first = 0, .last = 0}, {.first = 1, .last = 1}};
  for (const std::uint64_t step : {0U, 1U}) {
    const float x = step == 0 ? 1.0F : NAN;
    made.add(step, "fc", TensorRole::act, {1, x});
    made.add(step, "fc", TensorRole::weight, {x, x});
    made.add(step, "fc", TensorRole::update, {NAN});
  }
  const auto read_made = [&made] {
    return read_report(inputs_of(std::make_shared<const RunCounts>(made.run),
                                 std::make_shared<const std::vector<RangeSummary>>(made.summaries),
                                 ReportOptions{}));
  };
  CHECK(said(read_made()).find("alone") == std::string::npos);
  made.run.watched.first_nonfinite =
      parse_first_nonfinite(R"({"text":"x","step":1,"phase":"backward","skipped":true})");
  CHECK(said(read_made()).find("alone") == std::string::npos);
  made.run.watched.first_nonfinite =
      parse_first_nonfinite(R"({"text":"x","step":1,"phase":"forward","skipped":true})");
  const Report report = read_made();
  CHECK(report.verdict.broke_at == 1);
  CHECK(
      said(report).find("of the finite values alone. The run was not finite in step 1: this is no "
                        "answer for a run that trains") != std::string::npos);
  // The weight has nothing finite in step 1, and the update in no step.
  CHECK(role(report, "weight").not_finite == 1);
  CHECK(role(report, "weight").tensors == 1);
  CHECK(said(report).find("update: no verdict, since no finite value") != std::string::npos);
  made.add(1, "other", TensorRole::act, {NAN});
  CHECK(role(read_made(), "act").nothing_finite == 1);
  CHECK(said(read_made()).find("2 of 2 hold NaN or Inf") != std::string::npos);
}

TEST_CASE("whether a state takes its updates is not known, and said where there are states") {
  constexpr const char* words = "whether a state, which sums small parts";
  CHECK(said(read({{"w.weight.exp_avg", {5}}})).find(words) != std::string::npos);
  CHECK(said(read({{"w.weight", {5}}})).find(words) == std::string::npos);
}

TEST_CASE("the table of formats adds no norms of different roles") {
  const Report mixed =
      read({{"w.weight", {100}}, {"w.weight.grad", {1, 0x1p-30F}}, {"w.weight.exp_avg", {5}}});
  CHECK(report_text(mixed, {}).find("Gradients at scale 1") != std::string::npos);
  CHECK(report_text(read({{"w.weight", {100}}, {"state.0.exp_avg", {1e-9F}}}), {})
            .find("weight at scale 1") != std::string::npos);
  const std::string alike = report_text(read({{"w.weight.grad", {1}}, {"w.act.grad", {1}}}), {});
  CHECK(alike.find("\nAt scale 1") != std::string::npos);
}

}  // namespace
}  // namespace binade::test::verdict_test
