// SPDX-License-Identifier: Apache-2.0
//
// Question: ten frameworks react to an overflow by nearly the same few parameters; what effect do
// the differences have? Every loss scale policy runs on the same traces, which are sequences of the
// largest gradient magnitude (amax) of each step: a constant one that overflows above a certain
// scale (a cliff), an infinity now and then, one early infinity, nothing but infinities, one that
// falls slowly, and one with rare spikes.
//
// The state machine of lib/amp/loss_scaler.h computes the scale S of each policy. A step overflows
// if amax · S >= 65520, which binary16 rounds to infinity.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/philox.h"
#include "experiments/scaler_race_live.h"
#include "lib/amp/histogram_scaler.h"
#include "lib/amp/log_max_scaler.h"
#include "lib/amp/loss_scaler.h"
#include "lib/runs/experiment.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr float first_infinite = 65520;
constexpr std::size_t long_run = 20000, rare_infinity = 1500;
constexpr double drift_binades = 16;

/// The largest gradient magnitude of each step, before scaling. An infinite magnitude overflows at
/// any scale.
struct Trace {
  const char* name;
  const char* title;
  std::vector<float> amax;
};

/// A policy in a run: functions that return its scale and end a step.
struct Runner {
  std::string name;
  std::function<float()> scale;
  std::function<bool(bool found_inf, float amax)> update;  ///< true: the optimizer stepped
};

struct ScalerRun {
  std::string name;
  std::size_t skips = 0;
  std::size_t burst = 0;                      ///< skipped steps before the first that was taken
  std::optional<std::size_t> gave_up;         ///< the step at which the policy ended the training
  std::vector<double> change_steps, changes;  ///< steps, and the scale from each on
  double last_log2 = 0, lowest_log2 = 0, highest_log2 = 0;
  /// Binades from S to the largest power of two that does not overflow: mean over the steps taken,
  /// and at the end.
  double mean_gap = 0;
  double last_gap = 0;
};

double uniform(std::uint64_t stream, std::size_t i) {
  return (static_cast<double>(random_word(2026, stream, i)) + 0.5) * 0x1p-32;
}

/// Returns a number that is approximately normally distributed: the sum of twelve uniform numbers
/// less six.
double normal(std::uint64_t stream, std::size_t i) {
  double sum = -6;
  for (std::size_t k = 0; k < 12; ++k) sum += uniform(stream, 12 * i + k);
  return sum;
}

std::vector<Trace> make_traces() {
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<Trace> traces{
      {"cliff", "Overflow iff S > 2^12", std::vector<float>(long_run, first_infinite * 0x1p-13F)},
      {"rare", "An infinity every 1500 steps", std::vector<float>(long_run, 0.0F)},
      {"early", "One infinity, at step 11", std::vector<float>(5000, 0.0F)},
      {"straight", "60 infinities in a row", std::vector<float>(60, inf)},
      {"drift", "amax walks down by about 14 binades", {}},
      {"spikes", "amax jumps up by 6 to 14 binades, one step in 700", {}}};
  for (std::size_t step = 1; step <= long_run; ++step) {
    if (step % rare_infinity == 0) traces[1].amax[step - 1] = inf;
  }
  traces[2].amax[10] = inf;
  double walk = 0;
  for (std::size_t i = 0; i < long_run; ++i) {
    walk += 0.02 * normal(1, i) - drift_binades / long_run;
    traces[4].amax.push_back(static_cast<float>(std::exp2(walk)));
    const double jump = uniform(2, 2 * i) < 1.0 / 700 ? 6 + 8 * uniform(2, 2 * i + 1) : 0;
    traces[5].amax.push_back(static_cast<float>(std::exp2(jump - 2)));
  }
  return traces;
}

Runner runner_of(const LossScalePolicy& policy) {
  const auto scaler = std::make_shared<LossScaler>(policy);
  return {std::string(policy.name), [scaler] { return scaler->scale(); },
          [scaler](bool found_inf, float) { return scaler->update(found_inf); }};
}

/// Returns the policies that need statistics of the gradients. The histogram sees a gradient of 64
/// values, of which amax is the largest and each is a quarter of a binade below the one before.
std::vector<Runner> statistical_runners() {
  const auto log_max = std::make_shared<LogMaxScaler>();
  const auto histogram = std::make_shared<HistogramScaler>();
  const auto update_histogram = [histogram](bool found_inf, float amax) {
    std::vector<float> gradient;
    for (int i = 0; i < 64; ++i) {
      gradient.push_back(amax * static_cast<float>(std::exp2(-i / 4.0)) * histogram->scale());
    }
    histogram->count(gradient);
    histogram->update();
    return !found_inf;
  };
  return {{"log_max", [log_max] { return log_max->scale(); },
           [log_max](bool found_inf, float amax) { return log_max->update(found_inf, amax); }},
          {"histogram", [histogram] { return histogram->scale(); }, update_histogram}};
}

std::vector<Runner> dynamic_runners() {
  std::vector<Runner> runners;
  for (const LossScalePolicy& policy : loss_scale_policies()) {
    if (policy.growth_rule != GrowthRule::never) runners.push_back(runner_of(policy));
  }
  return runners;
}

ScalerRun run_on(const Trace& trace, const Runner& runner) {
  ScalerRun run;
  run.name = runner.name;
  float before = -1;
  double gaps = 0;
  std::size_t taken = 0;
  run.lowest_log2 = run.highest_log2 = std::log2(runner.scale());
  for (std::size_t step = 1; step <= trace.amax.size(); ++step) {
    const float scale = runner.scale(), amax = trace.amax[step - 1];
    if (scale != before) {
      run.change_steps.push_back(static_cast<double>(step));
      run.changes.push_back(static_cast<double>(scale));
      before = scale;
    }
    const bool found_inf = !(amax * scale < first_infinite);
    if (found_inf && run.burst + 1 == step) run.burst = step;
    run.skips += found_inf ? 1 : 0;
    if (amax > 0 && std::isfinite(amax)) {
      run.last_gap = std::ceil(std::log2(first_infinite / amax)) - 1 - std::log2(scale);
      gaps += found_inf ? 0 : run.last_gap;
      taken += found_inf ? 0 : 1;
    }
    try {
      runner.update(found_inf, amax);
    } catch (const Error&) {
      run.gave_up = step;
      break;  // the policy ended the training
    }
    run.last_log2 = std::log2(runner.scale());
    run.lowest_log2 = std::min(run.lowest_log2, run.last_log2);
    run.highest_log2 = std::max(run.highest_log2, run.last_log2);
  }
  run.change_steps.push_back(static_cast<double>(trace.amax.size()));
  run.changes.push_back(std::exp2(run.last_log2));
  run.mean_gap = taken > 0 ? gaps / static_cast<double>(taken) : 0;
  return run;
}

std::vector<ScalerRun> race(const Trace& trace, const std::vector<Runner>& runners) {
  std::vector<ScalerRun> runs;
  for (const Runner& runner : runners) runs.push_back(run_on(trace, runner));
  return runs;
}

// Expected results, which an independent implementation of the frameworks' sources gave.

struct Golden {
  const char* policy;
  std::vector<std::size_t> growths;  ///< the first steps at which the scale grows without overflow
  std::size_t skips, burst;          ///< of the trace "cliff"
  int rare_log2;                     ///< log2 of the last scale of the trace "rare"
  std::size_t next_growth;           ///< first step at which the scale grows in the trace "early"
  int straight_log2;                 ///< log2 of the last scale of the trace "straight"
};

const std::vector<Golden>& golden() {
  static const std::vector<Golden> rows{
      {"torch", {2000, 4000}, 13, 4, 3, 2011, -44},
      {"apex", {2000, 4000}, 13, 4, 3, 2011, -44},
      {"keras3", {2000, 4000}, 12, 3, 2, 2011, -45},
      {"keras2", {2000, 4000}, 12, 3, 2, 2011, 0},
      {"jmp", {2000, 4000}, 12, 3, 2, 2011, 0},
      {"fairseq_class", {2000, 4000}, 12, 3, 2, 2011, -45},
      {"deepspeed", {1001, 2001, 3001}, 43, 5, 29, 1012, 0},
      {"megatron", {1000, 2000, 3000}, 59, 21, 45, 1011, 0},
  };
  return rows;
}

/// Returns the policy of that name; fairseq's is without the floor of 1e-4 at which it ends the
/// training.
LossScalePolicy endless(const char* name) {
  LossScalePolicy policy = loss_scale_policy(name);
  if (policy.on_floor == OnFloor::raise_and_restore) policy.floor.reset();
  return policy;
}

/// Returns the steps after which the scale was larger than before.
std::vector<std::size_t> growths_of(const ScalerRun& run) {
  std::vector<std::size_t> steps;
  for (std::size_t i = 1; i + 1 < run.changes.size(); ++i) {
    if (run.changes[i] > run.changes[i - 1]) {
      steps.push_back(static_cast<std::size_t>(run.change_steps[i]) - 1);
    }
  }
  return steps;
}

std::string joined(const std::vector<std::size_t>& numbers) {
  std::string out;
  for (const std::size_t n : numbers) out += fmt::format("{}{}", out.empty() ? "" : ", ", n);
  return out;
}

/// Writes the measured value and, if it differs, the expected one; sets `equal` to false then.
template <class T>
std::string judged(const T& measured, const T& expected, bool& equal) {
  if (measured == expected) return fmt::format("{}", measured);
  equal = false;
  return fmt::format("{} (not {})", measured, expected);
}

/// Measures the table of expected results. Returns whether every cell agrees.
bool tabulate_golden(const std::vector<Trace>& traces, Outcome& out) {
  Table table{"The golden table, measured",
              {"policy", "steps of the first growths", "skips if S > 2^12 overflows",
               "of them at first", "log2 S after an infinity every 1500 steps",
               "next growth after an infinity at step 11", "log2 S after 60 infinities"},
              {}};
  bool equal = true;
  const Trace calm{"calm", "", std::vector<float>(4500, 0.0F)};
  for (const Golden& row : golden()) {
    const auto run = [&row](const Trace& trace) {
      return run_on(trace, runner_of(endless(row.policy)));
    };
    std::vector<std::size_t> growths = growths_of(run(calm));
    growths.resize(std::min(growths.size(), row.growths.size()));
    const ScalerRun cliff = run(traces[0]);
    const std::vector<std::size_t> after = growths_of(run(traces[2]));
    table.rows.push_back(
        {row.policy, judged(joined(growths), joined(row.growths), equal),
         judged(cliff.skips, row.skips, equal), judged(cliff.burst, row.burst, equal),
         judged(run(traces[1]).last_log2, static_cast<double>(row.rare_log2), equal),
         judged(after.empty() ? 0 : after.front(), row.next_growth, equal),
         judged(run(traces[3]).last_log2, static_cast<double>(row.straight_log2), equal)});
  }
  out.tables.push_back(table);
  return equal;
}

std::string power_text(double log2) {
  return std::isfinite(log2) ? fmt::format("2^{:.4g}", log2) : log2 > 0 ? "inf" : "0";
}

void tabulate(const Trace& trace, const std::vector<ScalerRun>& runs, Outcome& out) {
  const bool has_gap = trace.amax.front() > 0 && std::isfinite(trace.amax.front());
  Table table{trace.title,
              {"policy", "skips", "skips at first", "steps taken", "S at the end", "lowest S",
               "highest S", "binades below safe S", "gives up at"},
              {}};
  Plot plot{
      .title = trace.title,
      .x_label = "step",
      .y_label = "loss scale",
      .y_axis = Axis::log2,
      .series = {},
      .note = "Each curve is one policy's scale on the same trace; a fall is a skipped step."};
  for (const ScalerRun& run : runs) {
    table.rows.push_back({run.name, std::to_string(run.skips), std::to_string(run.burst),
                          std::to_string(trace.amax.size() - run.skips), power_text(run.last_log2),
                          power_text(run.lowest_log2), power_text(run.highest_log2),
                          has_gap ? fmt::format("{:.2f}", run.mean_gap) : "-",
                          run.gave_up ? std::to_string(*run.gave_up) : "-"});
    plot.series.push_back({run.name, run.change_steps, run.changes, Mark::steps});
    out.data["traces"][trace.name][run.name] = {{"skips", run.skips},
                                                {"burst", run.burst},
                                                {"steps_taken", trace.amax.size() - run.skips},
                                                {"last_log2", run.last_log2},
                                                {"lowest_log2", run.lowest_log2},
                                                {"highest_log2", run.highest_log2},
                                                {"mean_gap", run.mean_gap},
                                                {"last_gap", run.last_gap}};
    if (run.gave_up) out.data["traces"][trace.name][run.name]["gave_up"] = *run.gave_up;
  }
  out.tables.push_back(table);
  out.plots.push_back(plot);
}

const ScalerRun& named(const std::vector<ScalerRun>& runs, std::string_view name) {
  return *std::ranges::find(runs, name, &ScalerRun::name);
}

/// Runs all policies on all traces, without training. Returns whether the results are as expected;
/// sets the verdict.
bool race_on_traces(Outcome& out) {
  const std::vector<Trace> traces = make_traces();
  const bool equal = tabulate_golden(traces, out);
  std::vector<std::vector<ScalerRun>> results;
  for (const Trace& trace : traces) {
    std::vector<Runner> runners = dynamic_runners();
    const bool has_statistics = trace.amax.front() > 0 && std::isfinite(trace.amax.front());
    if (has_statistics) std::ranges::move(statistical_runners(), std::back_inserter(runners));
    results.push_back(race(trace, runners));
    tabulate(trace, results.back(), out);
  }
  const std::vector<ScalerRun>&rare = results[1], &drift = results[4];
  const bool lags = named(drift, "megatron").mean_gap < named(drift, "torch").mean_gap &&
                    named(drift, "deepspeed").mean_gap < named(drift, "torch").mean_gap;
  out.data["golden_table_holds"] = equal;
  const auto lag = [&drift](std::string_view name) { return named(drift, name).last_gap; };
  out.measured = {
      {"rows", static_cast<double>(golden().size())},
      {"every", rare_infinity},
      {"torch", std::exp2(named(rare, "torch").last_log2)},
      {"megatron", std::exp2(named(rare, "megatron").last_log2)},
      {"window", static_cast<double>(loss_scale_policy("torch").growth_interval)},
      {"short_window", static_cast<double>(loss_scale_policy("megatron").growth_interval)},
      {"falls", std::log2(traces[4].amax.front() / traces[4].amax.back())},
      {"steps", static_cast<double>(long_run)},
      {"lag", lag("torch")},
      {"short_lag", lag("megatron")}};
  out.verdict = fmt::format(
      "the golden table {}; after an infinity every 1500 steps PyTorch's scale is {} and "
      "Megatron's {}; as amax "
      "falls PyTorch ends {:.0f} binades below the largest safe scale, Megatron {:.0f}",
      equal ? "holds in every cell" : "does NOT hold", power_text(named(rare, "torch").last_log2),
      power_text(named(rare, "megatron").last_log2), named(drift, "torch").last_gap,
      named(drift, "megatron").last_gap);
  return equal && lags;
}

Outcome run_scaler_race(const ExperimentInput& input) {
  Outcome out;
  const bool traces = race_on_traces(out);
  const LiveRace trainings = race_on_trainings(input, out);
  out.measured.insert(trainings.measured.begin(), trainings.measured.end());
  out.verdict += "; " + trainings.verdict + ".";
  out.as_expected = traces;
  return out;
}

constexpr std::array<ExpectedFigure, 15> scaler_race_figures{{
    {"rows", "policies of the golden table", "eight", 8, 8, true},
    {"every", "steps from one infinity to the next", "1500", 1500, 1500, true},
    {"torch", "PyTorch's scale at the end", "2^3", 8, 8},
    {"megatron", "Megatron's scale at the end", "2^45", 0x1p45, 0x1p45},
    {"window", "PyTorch's growth window", "2000", 2000, 2000, true},
    {"short_window", "Megatron's growth window", "1000", 1000, 1000, true},
    {"falls", "binades by which amax falls", "14", 13.5, 14.5},
    {"steps", "steps of the trace", "20 000", 20000, 20000, true},
    {"lag", "binades that PyTorch's scale is behind at the end", "three", 3, any_larger},
    {"short_lag", "binades that Megatron's scale is behind at the end", "two", any_smaller, 2},
    {"shift", "factor of the loss of the trainings", "2^-18", 0x1p-18, 0x1p-18, true},
    {"least_scale", "smallest scale with which a policy that trains begins", "2^7", 0x1p7, 0x1p7},
    {"behind", "accuracy lost against binary32 by policies that begin high", "1 %", any_smaller,
     0.01},
    {"behind_hasty", "accuracy lost with a growth window of 5", "1 %", any_smaller, 0.01},
    {"fails", "highest accuracy of policies that begin at 1", "11 %", 0.05, 0.2},
}};

/// The texts one after the other, put together by the compiler.
template <const std::string_view&... texts>
constexpr auto one_text = [] {
  std::array<char, (texts.size() + ...)> out{};
  auto end = out.begin();
  ((end = std::ranges::copy(texts, end).out), ...);
  return out;
}();

/// The part of the hypothesis that whole and quick runs share; the part about trainings follows it.
constexpr std::string_view scaler_race_began =
    "The golden table of {rows} policies, which an independent implementation gave, holds in "
    "every cell. An infinity every {every} steps walks PyTorch's scale down to {torch} in {steps} "
    "steps and leaves Megatron's at {megatron}, as the growth window ({window} or {short_window}) "
    "is longer or shorter than the distance of the infinities. Where amax falls by {falls} "
    "binades in as many steps, the long window cannot follow (at least {lag} binades behind at "
    "the end), the short one follows closer (at most {short_lag}). Where gradients need a scale ";
constexpr std::string_view scaler_race_said =
    "(a loss {shift} times as large), every policy that begins at {least_scale} or above trains, "
    "with seed 0, within {behind} of binary32, also with a growth window of a few steps "
    "({behind_hasty}, a mean of several seeds), and "
    "so "
    "does PopART's histogram, which doubles from one at every step; a scale of one ends at chance "
    "({fails}), "
    "and so does LogMax, which begins there and takes the logarithm of a gradient of zeros.";
constexpr std::string_view scaler_race_quickly_said =
    "(a loss {shift} times as large), PyTorch's and Megatron's train, with seed 0, within {behind} "
    "of binary32, "
    "also with a growth window of a few steps ({behind_hasty}), and no scale ends at chance "
    "({fails}).";

template <const std::string_view& said>
constexpr std::string_view scaler_race_text{one_text<scaler_race_began, said>.data(),
                                            one_text<scaler_race_began, said>.size()};

}  // namespace

extern const Experiment scaler_race{
    "scaler_race",
    "Frameworks answer an overflow with nearly the same few numbers: what "
    "do the differences amount to?",
    "With an infinity every 1500 steps PyTorch's scale sinks to 2^3, and Megatron's climbs to "
    "2^45.",
    {scaler_race_text<scaler_race_said>, scaler_race_figures},
    &run_scaler_race,
    true,
    {scaler_race_text<scaler_race_quickly_said>}};

}  // namespace binade
