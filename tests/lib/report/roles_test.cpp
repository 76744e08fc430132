// SPDX-License-Identifier: Apache-2.0
//
// From which tensors the loss scale is taken, for many conventions of names, and what the report
// says about it.
#include "lib/report/roles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "lib/report/text.h"
#include "tests/lib/report/made_report.h"

namespace binade::test::roles_test {
namespace {

/// A file of F32 tensors.
std::string write_named(const Folder& folder, const std::string& file,
                        const std::vector<Named>& tensors) {
  std::string header = "{", data;
  for (const Named& t : tensors) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(t.values.data()), 4 * t.values.size());
    header += std::string(header.size() > 1 ? "," : "") + "\"" + t.name + "\"" +
              R"(:{"dtype":"F32","shape":[)" + std::to_string(t.values.size()) +
              R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(data.size()) +
              "]}";
  }
  return folder.write(file, safetensors(header + "}", data));
}

Report report_on(const std::vector<Named>& tensors, const std::string& file = "x.safetensors",
                 std::initializer_list<const char*> rules = {}) {
  const Folder folder;
  ReportOptions options;
  for (const char* rule : rules) options.roles.push_back(parse_role_rule("--role", rule));
  return read_report(open_inputs({write_named(folder, file, tensors)}, options));
}

/// The same dump of a network, under many conventions of names.
struct Spelling {
  const char *weight, *act, *d_weight, *d_act, *state;
};
constexpr std::array<Spelling, 6> spellings{{
    {"b.2.fc.weight", "b.2.act", "b.2.fc.weight.grad", "b.2.act.grad", "b.2.fc.weight.exp_avg"},
    {"block2/weight", "block2/act", "block2/dW", "block2/dAct", "block2/state/momentum_buffer"},
    {"params/fc/kernel", "activations/fc", "grads/fc/kernel", "gradients/act", "opt_state/0/mu/fc"},
    {"fc_weight", "fc_out", "fc_weight_grad", "fc_out_grad", "fc_exp_avg"},
    {"W1", "act1", "dW1", "dact1", "optimizer/1"},
    {"fc.weight", "fc.output", "fc.wgrad", "fc.dgrad", "optimizer.state.0.exp_avg_sq"},
}};

TEST_CASE("the loss scale does not depend on how the tensors are called") {
  for (const Spelling& s : spellings) {
    CAPTURE(s.d_act);
    const Report report = report_on({{s.weight, {1000, 1}},
                                     {s.act, {30000, 0x1p-30F}},
                                     {s.d_weight, {0x1p-10F, 0x1p-14F}},
                                     {s.d_act, {0x1p-20F, 0x1p-26F}},
                                     {s.state, {0x1p-40F, 0x1p-60F}}});
    REQUIRE(report.gradients);
    CHECK(report.gradients->summary.values == 4);
    CHECK(report.loss_scale.interval->max_log2 == 24);
    CHECK(report.loss_scale.binding_max == s.d_weight);
    CHECK(report.loss_scale.binding_min == s.d_act);
    CHECK(report.loss_scale.basis ==
          "Taken from 2 gradients. Left out: 1 act, 1 weight, 1 state; no loss scale multiplies "
          "them.");
  }
}

TEST_CASE("a gradient of a weight that rounding left of zero does not ask to be saved") {
  const auto report = [](float residue) {
    return report_on({{"q.weight.grad", {1, 0x1p-9F}},
                      {"k.bias.grad", {residue, residue}},
                      {"x.act.grad", {0x1p-30F}}});
  };
  // k.bias: sqrt(2) 2^-30 and 2^-17.5 of the norm of q.weight and itself.
  const Report none = report(0x1p-30F);
  CHECK(none.loss_scale.status == "ok");
  CHECK(none.loss_scale.binding_min == "x.act.grad");
  CHECK(none.loss_scale.negligible.tensors == 1);
  CHECK(none.loss_scale.negligible.first == "k.bias.grad");
  CHECK(none.loss_scale.negligible.share == doctest::Approx(0x1.6a09e6p-30));
  CHECK(
      has(none.loss_scale.reason,
          " Not asked to be saved: 1 gradient of weights with at most 2^-18 of the norm of all "
          "(k.bias.grad: 1.3e-07 %): small beside the others, or what rounding leaves of zero. An "
          "optimizer that divides by the size of a gradient, as Adam does, takes them for as large "
          "as the others."));
  CHECK(report(0x1p-40F).loss_scale.interval->min_log2 == none.loss_scale.interval->min_log2);
  const Report some = report_on({{"q.weight.grad", {1}}, {"k.bias.grad", {0x1p-17F}}});
  CHECK(some.loss_scale.binding_min == "k.bias.grad");
  CHECK(some.loss_scale.negligible.tensors == 0);
}

TEST_CASE("what is negligible in a step stays so in the run, and what is not, too") {
  const Report report = report_on({{"step1/a/dW", {1}},
                                   {"step1/b/dW", {0x1p-40F}},
                                   {"step2/a/dW", {0x1p-30F}},
                                   {"step2/b/dW", {0x1p-34F}}});
  CHECK(report.loss_scale.binding_min == "step2/b/dW");
  CHECK(report.loss_scale.interval->min_log2 == 10);
  CHECK(report.loss_scale.negligible.tensors == 1);
  CHECK(report.loss_scale.negligible.first == "step1/b/dW");
}

TEST_CASE("in a run the scale keeps as much room as its largest gradients took above the usual") {
  const auto report = [](ScaleChoice prefer, float least) {
    const Folder folder;
    ReportOptions options;
    options.prefer = prefer;
    const std::vector<Named> steps{{"step1/a/dW", {0x1p-6F}},
                                   {"step2/a/dW", {0x1p-3F}},
                                   {"step3/a/dW", {0x1p-6F}},
                                   {"step4/a/dW", {0x1p-7F}},
                                   {"step5/a/dW", {least}}};
    return read_report(open_inputs({write_named(folder, "x.safetensors", steps)}, options))
        .loss_scale;
  };
  const LossScale margin = report(ScaleChoice::margin, 0x1p-6F);
  CHECK(margin.interval->max_log2 == 17);
  CHECK(margin.recommended_log2 == 14);
  CHECK(margin.free_binades == 4);
  CHECK(margin.over_run->steps == 5);
  CHECK(margin.over_run->nearest == 1);
  CHECK(margin.over_run->usual == 7);
  CHECK(has(margin.reason,
            " At 2^14 = 16384 the largest gradient of the run may grow by 4 binades before it "
            "overflows, in 1 of 5 steps; that of the usual step by 7 binades."));
  const LossScale largest = report(ScaleChoice::s_max, 0x1p-6F);
  CHECK(largest.recommended_log2 == 17);
  CHECK(largest.free_binades == 1);
  CHECK(largest.over_run->usual == 4);
  CHECK(report(ScaleChoice::margin, 0x1p-41F).recommended_log2 == 17);  // 2^17 alone serves all
}

TEST_CASE(
    "scales follow the first of the formats, with those of each tensor's own where it is FP8") {
  const std::vector<Named> tensors{{"a.grad", {0x1p-2F}}, {"b.grad", {0x1p-20F, 0x1p-24F}}};
  const auto report = [&tensors](std::vector<NamedFormat> formats) {
    const Folder folder;
    return read_report(open_inputs({write_named(folder, "x.safetensors", tensors)},
                                   {.formats = std::move(formats)}));
  };
  const Report e4m3_report = report({report_formats[4], report_formats[0]});
  CHECK(e4m3_report.loss_scale.format == "e4m3");
  CHECK(e4m3_report.loss_scale.interval->max_log2 == 9);   // 2^-2 2^9 2 = 2^8 <= 448
  CHECK(e4m3_report.loss_scale.interval->min_log2 == 15);  // 2^-25 becomes zero, a tie
  CHECK(e4m3_report.tensors[1].loss_scale.interval->max_log2 == 27);
  CHECK(e4m3_report.loss_scale.served == 2);
  CHECK(e4m3_report.loss_scales[1].interval->max_log2 ==
        report({report_formats[0]}).loss_scale.interval->max_log2);
  const std::string text = report_text(e4m3_report, {});
  CHECK(has(text,
            "\nScales for e4m3: each tensor its own\n  e4m3 is used with a scale of each tensor's "
            "own, not with one loss scale: 2 of 2"));
  CHECK(has(text, "non-zero values in e4m3 at scale 1; scale:"));
  CHECK_FALSE(has(text, "binary16: 2"));
  const std::string bfloat16_text = report_text(report({report_formats[1]}), {});
  CHECK(has(bfloat16_text, "\nLoss scale for bfloat16: 2^0 = 1"));
}

TEST_CASE("gradients and nothing else leave nothing to say") {
  const Report report = report_on({{"a.grad", {1}}, {"b.weight.grad", {1}}});
  CHECK(report.loss_scale.basis.empty());
}

TEST_CASE(
    "where names tell nothing all are taken as gradients, where they tell weights none, and that "
    "is said") {
  const std::string how = " --role grad=REGEX tells which are (binade report --help).";
  CHECK(report_on({{"x", {1}}}).loss_scale.basis ==
        "No name tells a gradient: the tensor is taken as one." + how);
  CHECK(report_on({{"x", {1}}, {"y", {2}}}).loss_scale.basis ==
        "No name tells a gradient: the 2 tensors are taken as gradients." + how);
  CHECK(report_on({{"x.weight", {1}}, {"y.bias", {2}}}).loss_scale.basis ==
        "No name tells a gradient: the 2 tensors (named weight) are no gradients." + how);
  CHECK(report_on({{"x.weight", {1}}, {"y", {2}}, {"z", {4}}}).loss_scale.basis ==
        "No name tells a gradient: the 3 tensors (1 weight, 2 other) are no gradients." + how);
  CHECK(report_on({{"x.weight", {1}}}).loss_scale.basis ==
        "No name tells a gradient: the tensor (named weight) is no gradient." + how);
  const Report report = report_on({{"x.weight", {1}}, {"y", {0x1p5F}}});
  CHECK_FALSE(report.gradients);
  CHECK(report.loss_scale.status == "no gradients");
  CHECK_FALSE(report.loss_scale.recommended_log2);
  CHECK(report.scaled_tensors == 0);
  CHECK(has(report_text(report, {}),
            "\nLoss scale: none, of no gradients\n  No name tells a gradient, and a loss scale "
            "multiplies nothing else.\n"));
  const Report gradients =
      report_on({{"x.weight", {1}}, {"y", {0x1p5F}}}, "x.safetensors", {"grad=."});
  CHECK(gradients.loss_scale.binding_max == "y");
}

TEST_CASE(
    "tensors of no known role beside gradients are left out, and how to have them in is said") {
  const Report report = report_on({{"a.grad", {1}}, {"x", {0x1p5F}}, {"y", {1}}});
  CHECK(report.loss_scale.binding_max == "a.grad");
  CHECK(report.loss_scale.basis ==
        "Taken from 1 gradient. Left out: 2 other; if there are gradients among the others, --role "
        "grad=REGEX tells which are (binade report --help).");
  const Report told =
      report_on({{"a.grad", {1}}, {"x", {0x1p5F}}, {"y", {1}}}, "x.safetensors", {"grad=^x$"});
  CHECK(told.loss_scale.binding_max == "x");
  CHECK(has(told.loss_scale.basis, "Taken from 2 gradients. Left out: 1 other;"));
}

TEST_CASE(
    "a file named as one of gradients holds gradients, unless a name in it says that it is one") {
  const Report named =
      report_on({{"fc1.weight", {1}}, {"fc1.out", {1}}, {"z", {1}}}, "grads.safetensors");
  CHECK(named.tensors[0].role == TensorRole::d_weight);
  CHECK(named.tensors[1].role == TensorRole::d_act);
  CHECK(named.tensors[2].role == TensorRole::gradient);
  CHECK(named.loss_scale.basis ==
        "Gradients by the name of the file (grads.safetensors); --role weight=REGEX tells what is "
        "none.");
  const Report mixed =
      report_on({{"fc1.weight", {1}}, {"fc1.weight.grad", {1}}}, "grads.safetensors");
  CHECK(mixed.tensors[0].role == TensorRole::weight);
  const Report other =
      report_on({{"a.exp_avg", {1}}, {"a.update", {1}}, {"b", {1}}}, "run_grad.safetensors");
  CHECK(other.tensors[0].role == TensorRole::state);
  CHECK(other.tensors[1].role == TensorRole::update);
  CHECK(other.tensors[2].role == TensorRole::gradient);
  const Report ruled =
      report_on({{"a.weight", {1}}, {"b", {1}}}, "grads.safetensors", {"weight=^a", "other=^b"});
  CHECK(ruled.tensors[0].role == TensorRole::weight);
  CHECK_FALSE(ruled.tensors[1].role);
}

TEST_CASE("in a file of gradients names of modules and of parameters do not say otherwise") {
  const Report modules = report_on(
      {{"fc1.weight", {1}}, {"gradient_encoder.fc.weight", {1}}, {"sobel.grad_x.weight", {1}}},
      "grads.safetensors");
  for (const TensorReport& tensor : modules.tensors) CHECK(tensor.role == TensorRole::d_weight);
  const Report bayes = report_on({{"enc.weight", {1}}, {"prior.mu", {0x1p12F}}, {"a.exp_avg", {1}}},
                                 "grads.safetensors");
  CHECK(bayes.tensors[1].role == TensorRole::gradient);
  CHECK(bayes.loss_scale.binding_max == "prior.mu");
  CHECK(bayes.tensors[2].role == TensorRole::state);
}

TEST_CASE("the ends of what is looked at are not said to be a tensor's") {
  const Report smallest = report_on({{"t.grad", {0x1p-149F, 0x1.8p-148F}}});
  CHECK(has(smallest.loss_scale.reason, "2^127, binary32's largest scale, keeps every value"));
  CHECK(has(smallest.tensors[0].loss_scale.reason, "larger ones are no binary32"));
  const Report largest = report_on({{"w.grad", {0x1p127F, 1, 1.5F}}});
  CHECK(has(largest.loss_scale.reason, "At any scale no tensor loses more than 0.1 %"));
  CHECK(has(largest.tensors[0].loss_scale.reason, "smaller scales are not looked at"));
}

TEST_CASE("what --role said is not said to be in the names") {
  const Report report = report_on({{"a", {1}}, {"b", {1}}}, "x.safetensors", {"weight=."});
  CHECK(has(report.loss_scale.basis, "the 2 tensors (by --role weight) are no gradients"));
}

TEST_CASE(
    "gradients that are passed over are not counted among those that the scale was taken from") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const Report some = report_on({{"step1/a/dW", {1}}, {"step2/a/dW", {nan}}, {"step1/a/act", {1}}});
  CHECK(has(some.loss_scale.basis, "Taken from 1 gradient. Left out: 1 act;"));
  const Report none = report_on({{"step1/a/dW", {nan}}, {"step1/a/act", {1}}});
  CHECK(has(none.loss_scale.basis, "Taken from 0 gradients."));
}

TEST_CASE("in a file of gradients a dump's own roles stay, parameters of steps are gradients") {
  const std::vector<Named> tensors{{"step1/fc1/weight", {1}}, {"step2/fc1.weight", {1}}};
  const Report report = report_on(tensors, "grads.safetensors");
  REQUIRE(report.time);
  const std::vector<TimeSeries>& series = report.time->series;  // two of all layers, then each
  REQUIRE(series.size() == 4);
  CHECK(series[2].layer == "fc1");
  CHECK(series[2].run.role == TensorRole::weight);
  CHECK(series[3].run.role == TensorRole::d_weight);
  CHECK(series[3].last.time == TensorTime{2, "fc1.weight", TensorRole::d_weight});
}

TEST_CASE("two files tell apart what their names do not") {
  const Folder folder;
  const std::vector<Named> weights{{"fc1.weight", {1024}}};
  const std::vector<Named> gradients{{"fc1.weight", {0x1p-7F}}};
  const Report report =
      read_report(open_inputs({write_named(folder, "params.safetensors", weights),
                               write_named(folder, "grads.safetensors", gradients)},
                              {}));
  CHECK(report.loss_scale.interval->max_log2 == 21);
  CHECK(report.tensors[0].role == TensorRole::weight);
  const Report steps =
      read_report(open_inputs({write_named(folder, "grads_1.safetensors", weights),
                               write_named(folder, "grads_2.safetensors", gradients)},
                              {}));
  CHECK(has(steps.loss_scale.reason, "grads_1.safetensors sets it"));
  CHECK(has(steps.loss_scale.reason, "grads_2.safetensors needs that"));
  const std::string text = report_text(steps, {});
  CHECK(has(text, "grads_1:fc1.weight"));
  CHECK(has(text, "grads_2:fc1.weight"));
}

TEST_CASE("roles are reported apart, the last those that nothing tells") {
  const Report report = report_on(
      {{"z", {0x1p-30F}}, {"a.grad", {0x1p-26F, 1}}, {"b.grad", {1}}, {"a.weight", {0x1p-15F, 1}}});
  REQUIRE(report.roles.size() == 3);
  const auto check = [&](std::size_t i, const char* name, std::size_t tensors,
                         std::uint64_t values) {
    CHECK(report.roles[i].all.name == name);
    CHECK(report.roles[i].tensors == tensors);
    CHECK(report.roles[i].all.summary.values == values);
  };
  check(0, "weight", 1, 2);
  check(1, "grad", 2, 3);
  check(2, "other", 1, 1);
  RangeSummary sum = report.tensors[1].summary;
  merge(sum, report.tensors[2].summary);
  CHECK(report.roles[1].all.summary == sum);
  const std::string text = report_text(report, {});
  CHECK(has(text, "By role, in binary16"));
  CHECK(has(
      text,
      "  weight                      1             2       0 %     50.0 %       0 %       0 %\n"));
  CHECK(has(text, "grad: of something that the name does not"));
}

TEST_CASE("one role is no table of roles") {
  const Report report = report_on({{"a.grad", {1}}, {"b.grad", {1}}});
  CHECK(report.roles.empty());
  CHECK_FALSE(has(report_text(report, {}), "By role"));
}

TEST_CASE(
    "a saved optimizer is state, its count of steps is nothing, and neither asks for a loss "
    "scale") {
  for (const char* prefix : {"state.0.", "optimizer.state.3.", "state.fc1.weight."}) {
    CAPTURE(prefix);
    const std::string of = prefix;
    const Report report = report_on({{of + "exp_avg", {1e-3F}},
                                     {of + "exp_avg_sq", {1e-9F}},
                                     {of + "sum", {2}},
                                     {of + "step", {1000}}},
                                    "opt.safetensors");
    REQUIRE(report.rows.size() == 3);
    REQUIRE(report.skipped.size() == 1);
    CHECK(report.skipped[0].reason == "a count of steps");
    for (const TensorReport& tensor : report.tensors) CHECK(tensor.role == TensorRole::state);
    CHECK_FALSE(report.loss_scale.recommended_log2);
    CHECK(report.loss_scale.status == "no gradients");
    CHECK(has(report.loss_scale.basis, "the 3 tensors (named state) are no gradients"));
  }
  const Report mixed = report_on({{"a", {100}}, {"state.0.exp_avg", {1e-30F}}}, "x.safetensors");
  CHECK(mixed.loss_scale.status == "no gradients");
  CHECK(mixed.scaled_tensors == 0);
}

TEST_CASE(
    "codes whose scales are apart are left out with them, by name, unless a rule says what they "
    "are") {
  const Folder folder;
  const std::string header =
      R"({"fc.weight":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},)"
      R"("fc.weight_scale_inv":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
      R"("fc.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  const std::string path =
      folder.write("q.safetensors", safetensors(header, std::string(12, '\x3f')));
  const Report report = read_report(open_inputs({path}, {}));
  REQUIRE(report.rows.size() == 1);
  CHECK(report.rows[0].name == "fc.bias");
  REQUIRE(report.skipped.size() == 2);
  CHECK(report.skipped[0].reason == "codes without their scale, fc.weight_scale_inv");
  CHECK(report.skipped[1].reason == "a scale or offset of the codes fc.weight");
  CHECK(report.hint.starts_with("1 tensor is quantized: fc.weight"));
  ReportOptions options;
  options.roles.push_back(parse_role_rule("--role", "weight=^fc.weight$"));
  CHECK(read_report(open_inputs({path}, options)).rows.size() == 2);
}

}  // namespace
}  // namespace binade::test::roles_test
