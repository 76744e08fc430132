// SPDX-License-Identifier: Apache-2.0
//
// Question: what does it cost to clip before unscaling, to forget update() or to unscale twice, and
// which checks find these mistakes? A quadratic function with known gradients is minimised by SGD
// with gradient clipping under a GradScaler, in the right order of calls and in wrong ones. Each
// wrong order goes through the scaler's own checks and through the order checker.
//
// Clipping is PyTorch's clip_grad_norm_: it multiplies the gradients, in binary32, by min(1, c /
// (norm + 1e-6)).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "emulate/carrier.h"
#include "emulate/philox.h"
#include "lib/amp/grad_scaler.h"
#include "lib/amp/order_checker.h"
#include "lib/runs/experiment.h"
#include "lib/runs/tensor_dump.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t clip_parameters = 64;
constexpr float threshold = 0.25F, learning_rate = 0.5F;
constexpr std::array clip_scales_log2{0, 4, 8, 12, 16};

/// The function 1/2 · sum curvature_i · (w_i - target_i)² of the weights w.
struct Quadratic {
  std::vector<float> curvature, target;

  static Quadratic make() {
    Quadratic q;
    for (std::size_t i = 0; i < clip_parameters; ++i) {
      q.curvature.push_back(std::ldexp(1.0F, -static_cast<int>(i % 4)));
      q.target.push_back(static_cast<float>(random_word(7, 0, i)) * 0x1p-31F - 1);
    }
    return q;
  }

  double loss(const std::vector<float>& w) const {
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double distance = static_cast<double>(w[i]) - static_cast<double>(target[i]);
      sum += 0.5 * static_cast<double>(curvature[i]) * distance * distance;
    }
    return sum;
  }

  /// Returns the gradient of scale · loss. As in a backward pass, the unscaled gradient is computed
  /// and multiplied.
  std::vector<float> gradient(const std::vector<float>& w, float scale) const {
    std::vector<float> out;
    for (std::size_t i = 0; i < w.size(); ++i)
      out.push_back(scale * (curvature[i] * (w[i] - target[i])));
    return out;
  }
};

double norm_of(std::span<const float> values) {
  double squares = 0;
  for (const float x : values) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

void clip(std::span<float> gradient) {
  const auto norm = static_cast<float>(norm_of(gradient));
  const float coefficient = std::min(threshold / (norm + 1e-6F), 1.0F);
  for (float& x : gradient) x *= coefficient;
}

enum class Order { no_scaler, right, clip_first };

struct Training {
  std::vector<double> losses;  ///< before each step and after the last
  double first_step =
      0;  ///< norm of the gradient of the first step, which is the effective threshold
  std::vector<float> weights;
};

/// Trains. Writes the tensors of every tenth part of the steps and of the last step into `folder`,
/// unless it is empty.
Training train(Order order, int scale_log2, std::size_t steps, const std::string& folder = "") {
  const Quadratic problem = Quadratic::make();
  LossScalePolicy policy = loss_scale_policy("torch");
  policy.init_scale = std::exp2(scale_log2);
  GradScaler scaler(policy, {.enabled = order != Order::no_scaler});
  Training out;
  out.weights.assign(clip_parameters, 0.0F);
  for (std::size_t step = 0; step < steps; ++step) {
    out.losses.push_back(problem.loss(out.weights));
    std::vector<float> gradient = problem.gradient(out.weights, scaler.scale_loss(1));
    const bool dumped = !folder.empty() && (step % (steps / 10) == 0 || step + 1 == steps);
    const std::vector<float> weights = out.weights, scaled = gradient;
    const auto scale = scaler.get_scale();
    const auto descend = [&] {
      if (step == 0) out.first_step = norm_of(gradient);
      for (std::size_t i = 0; i < clip_parameters; ++i)
        out.weights[i] -= learning_rate * gradient[i];
    };
    const OptimizerView optimizer{1, {{binary32, gradient}}, descend};
    if (order == Order::clip_first) clip(gradient);
    scaler.unscale_(optimizer);
    if (order != Order::clip_first) clip(gradient);
    scaler.step(optimizer);
    scaler.update();
    if (!dumped) continue;
    std::vector<float> update;
    for (std::size_t i = 0; i < clip_parameters; ++i) update.push_back(weights[i] - out.weights[i]);
    const Shape shape{clip_parameters};
    const std::array<DumpedTensor, 3> tensors{
        {{"quadratic", TensorRole::weight, shape, weights},
         {"quadratic", TensorRole::d_weight, shape, unscaled(scaled, scale)},
         {"quadratic", TensorRole::update, shape, update}}};
    write_step(folder, static_cast<std::int64_t>(step), scale, tensors);
  }
  out.losses.push_back(problem.loss(out.weights));
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(
      a, b, {}, [](float x) { return bits_of(x); }, [](float x) { return bits_of(x); });
}

/// Trains in the right and the wrong order for several scales. Returns whether the effective
/// thresholds are as expected.
bool compare_thresholds(const ExperimentInput& input, Outcome& out) {
  const std::size_t steps = input.quick ? 50 : 400;
  const Training reference = train(Order::no_scaler, 0, steps);
  Table table{
      fmt::format("Clipping to {} under a loss scale S: norm of the gradient of the first step",
                  threshold),
      {"S", "unscale, clip", "clip, unscale", "c / S", "loss, right order", "loss, wrong order",
       "right order = no scaler"},
      {}};
  Plot plot{.title = "Loss with clipping before unscaling",
            .x_label = "step",
            .y_label = "loss",
            .y_axis = Axis::log10,
            .series = {},
            .note =
                "With S = 1 both orders give the same; each binade of S halves the steps of the "
                "wrong one."};
  bool as_said = true;
  if (!input.dump_folder.empty()) refuse_dumps_below(input.dump_folder);
  for (const int k : clip_scales_log2) {
    const auto folder = [&input, k](const char* order) {
      if (input.dump_folder.empty()) return std::string();
      std::string path = fmt::format("{}/{}_2^{}", input.dump_folder, order, k);
      std::error_code ignored;  // writing a file into the folder will fail with an Error
      std::filesystem::create_directories(path, ignored);
      return path;
    };
    const Training right = train(Order::right, k, steps, folder("right")),
                   wrong = train(Order::clip_first, k, steps, folder("wrong"));
    const double expected = static_cast<double>(threshold) * std::exp2(-k);
    const bool equal = same_bits(right.weights, reference.weights);
    as_said = as_said && equal &&
              std::abs(right.first_step / static_cast<double>(threshold) - 1) < 1e-5 &&
              std::abs(wrong.first_step / expected - 1) < 1e-5;
    table.rows.push_back({fmt::format("2^{}", k), fmt::format("{:.6g}", right.first_step),
                          fmt::format("{:.6g}", wrong.first_step), fmt::format("{:.6g}", expected),
                          fmt::format("{:.4g}", right.losses.back()),
                          fmt::format("{:.4g}", wrong.losses.back()), equal ? "every bit" : "NO"});
    std::vector<double> x;
    for (std::size_t i = 0; i < wrong.losses.size(); ++i) x.push_back(static_cast<double>(i));
    plot.series.push_back({fmt::format("S = 2^{}", k), x, wrong.losses});
    out.data["thresholds"].push_back({{"scale_log2", k},
                                      {"right", right.first_step},
                                      {"wrong", wrong.first_step},
                                      {"expected", expected},
                                      {"loss_begin", wrong.losses.front()},
                                      {"loss_right", right.losses.back()},
                                      {"loss_wrong", wrong.losses.back()},
                                      {"equals_no_scaler", equal}});
  }
  out.tables.push_back(table);
  out.plots.push_back(plot);
  return as_said;
}

struct Scenario {
  const char* name;
  std::vector<TrainingEvent> events;
  const char* error;    ///< the message of GradScaler; empty: it raises none
  const char* finding;  ///< the name that the order checker gives the mistake
};

std::vector<Scenario> make_scenarios() {
  using enum TrainingEvent;
  return {
      {"right order", {zero_grad, forward, backward, unscale, clip, step, update}, "", ""},
      {"clip before unscale",
       {zero_grad, forward, backward, clip, unscale, step, update},
       "",
       "clip_before_unscale"},
      {"missing update",
       {zero_grad, forward, backward, step, zero_grad, forward, backward, step},
       "step() has already been called since the last update().",
       "missing_update"},
      {"missing update after a step one skips oneself",
       {zero_grad, forward, backward, unscale, zero_grad, forward, backward, unscale},
       "unscale_() has already been called on this optimizer since the last update().",
       "missing_update"},
      {"double unscale",
       {zero_grad, forward, backward, unscale, unscale, step, update},
       "unscale_() has already been called on this optimizer since the last update().",
       "double_unscale"},
      {"step twice",
       {zero_grad, forward, backward, step, step, update},
       "step() has already been called since the last update().",
       "double_step"},
      {"unscale after step",
       {zero_grad, forward, backward, step, unscale, update},
       "unscale_() is being called after step().",
       "unscale_after_step"},
      {"clip after step",
       {zero_grad, forward, backward, step, clip, update},
       "",
       "clip_after_step"},
      {"unscale in each accumulated pass",
       {zero_grad, forward, backward, unscale, forward, backward, step, update},
       "",
       "backward_after_unscale"},
      {"update without a check",
       {zero_grad, forward, backward, update},
       "No inf checks were recorded prior to update.",
       "update_without_step"},
      {"step again after update",
       {zero_grad, forward, backward, step, update, step},
       "",
       "double_step"},
      {"no zero_grad",
       {zero_grad, forward, backward, step, update, forward, backward, step, update},
       "",
       "backward_without_zero_grad"},
  };
}

struct Heard {
  std::string error, finding;
};

/// Gives the events of a scenario to a GradScaler, up to its first error, and all of them to the
/// order checker.
Heard listen(const Scenario& scenario) {
  Heard heard;
  OrderChecker checker;
  GradScaler scaler;
  std::vector<float> gradient(1, 1.0F);
  const OptimizerView optimizer{1, {{binary32, gradient}}, {}};
  for (const TrainingEvent event : scenario.events) {
    for (const OrderFinding& finding : checker.on(event, 1)) {
      if (heard.finding.empty()) heard.finding = order_mistake_name(finding.mistake);
    }
    if (!heard.error.empty()) continue;
    try {
      if (event == TrainingEvent::backward) gradient[0] = scaler.scale_loss(1);
      if (event == TrainingEvent::clip) clip(gradient);
      if (event == TrainingEvent::unscale) scaler.unscale_(optimizer);
      if (event == TrainingEvent::step) scaler.step(optimizer);
      if (event == TrainingEvent::update) scaler.update();
    } catch (const Error& error) {
      heard.error = error.what();
    }
  }
  return heard;
}

/// Runs all scenarios. Returns whether the scaler and the order checker report what is expected.
bool tell_mistakes(Outcome& out) {
  Table table{"Which mistakes are reported: GradScaler's error and the order checker's finding",
              {"order", "GradScaler", "order checker"},
              {}};
  bool as_said = true;
  std::size_t silent = 0;
  for (const Scenario& scenario : make_scenarios()) {
    const Heard heard = listen(scenario);
    as_said = as_said && heard.error == scenario.error && heard.finding == scenario.finding;
    silent += heard.error.empty() && !heard.finding.empty() ? 1 : 0;
    table.rows.push_back({scenario.name, heard.error.empty() ? "-" : heard.error,
                          heard.finding.empty() ? "-" : heard.finding});
    out.data["mistakes"].push_back(
        {{"order", scenario.name}, {"grad_scaler", heard.error}, {"order_checker", heard.finding}});
  }
  out.data["silent_mistakes"] = silent;
  out.tables.push_back(table);
  return as_said;
}

std::size_t silent_of(const Outcome& out) { return out.data["silent_mistakes"].get<std::size_t>(); }

Outcome run_clip_order(const ExperimentInput& input) {
  Outcome out;
  const bool thresholds = compare_thresholds(input, out);
  const bool told = tell_mistakes(out);
  const auto& worst = out.data["thresholds"].back();
  const std::size_t mistakes = out.data["mistakes"].size() - 1;
  out.measured = {{"threshold", static_cast<double>(threshold)},
                  {"scale", std::exp2(clip_scales_log2.back())},
                  {"clipped", worst["wrong"].get<double>()},
                  {"still", worst["loss_wrong"].get<double>() / worst["loss_begin"].get<double>()},
                  {"mistakes", static_cast<double>(mistakes)},
                  {"raised", static_cast<double>(mistakes - silent_of(out))}};
  out.as_expected = thresholds && told;
  out.verdict = fmt::format(
      "clipping before unscaling {} the threshold c / S (S = 2^16: {:.3g} instead of {}), the "
      "right order {} a run "
      "without scaler; of {} mistakes GradScaler lets {} pass, the order checker {}.",
      thresholds ? "has" : "does NOT have", worst["wrong"].get<double>(), threshold,
      thresholds ? "is bit for bit" : "is NOT", mistakes, silent_of(out),
      told ? "names them all" : "does NOT name them all");
  return out;
}

constexpr std::array<ExpectedFigure, 6> clip_order_figures{{
    {"threshold", "c, the threshold of clipping", "0.25", 0.25, 0.25, true},
    {"scale", "S, the loss scale", "65 536", 65536, 65536, true},
    {"clipped", "norm of the first step's gradient, clipped first", "3.8e-6", 3.75e-6, 3.85e-6},
    {"still", "last loss as a share of the first", "99 %", 0.99, 1},
    {"mistakes", "mistakes", "11", 11, 11},
    {"raised", "mistakes for which GradScaler raises", "six", 6, 6},
}};

}  // namespace

extern const Experiment clip_order{
    "clip_order",
    "What does it cost to clip before unscaling, to forget update() or to unscale twice, and which "
    "checks report it?",
    "Clipping before unscaling clips at c / S, and no error says so.",
    {"Clipping scaled gradients clips at c / S: with c = {threshold} and S = {scale} at "
     "{clipped}, training stands still (at least {still} of the loss stay) and no error is raised. "
     "In the right order a power-of-two scale changes no bit. For {raised} of {mistakes} "
     "mistakes, such as forgetting update(), unscaling twice and stepping twice, GradScaler "
     "raises an error; the order checker names all.",
     clip_order_figures},
    &run_clip_order,
    true};

}  // namespace binade
