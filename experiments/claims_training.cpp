// SPDX-License-Identifier: Apache-2.0
//
// Claims about loss scales and small gradients, checked with loss scalers and with short trainings
// of the digits MLP.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "experiments/claims.h"
#include "lib/amp/autocast.h"
#include "lib/range/counter.h"
#include "lib/range/fate.h"
#include "lib/runs/tensor_dump.h"
#include "lib/runs/trainings.h"
#include "lib/text/percent.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

constexpr std::string_view mlp = "digits_mlp";

TrainingRecipe recipe_of(std::int64_t steps) { return usual_recipe(mlp, steps); }

/// Returns a recipe in binary16, with the sums of products in binary32 and the given level and loss
/// scaler.
TrainingRecipe half_recipe(std::int64_t steps, const std::string& level,
                           const std::string& scaler) {
  TrainingRecipe recipe = in_format(recipe_of(steps), level, "binary16");
  recipe.products.accumulator = "reference";
  recipe.scaler = scaler;
  return recipe;
}

/// Returns a gradient filter that sets values below 2^-27 to zero, and counts these and all
/// non-zero values.
std::function<void(std::vector<float>&)> cut_below_2_27(std::uint64_t& cut, std::uint64_t& all) {
  return [&cut, &all](std::vector<float>& gradient) {
    for (float& x : gradient) {
      all += x != 0 ? 1 : 0;
      if (x == 0 || std::abs(x) >= 0x1p-27F) continue;
      cut += 1;
      x = 0;
    }
  };
}

/// Trains the digits MLP in binary32, with the loss times 2^-shift, undone before the step. Returns
/// the accuracy.
double accuracy_with(const ClaimInput& input, int shift, bool cuts,
                     nlohmann::ordered_json& figures) {
  std::uint64_t cut = 0, all = 0;
  TrainingRecipe recipe = recipe_of(input.quick ? 132 : 440);
  recipe.loss_shift = shift;
  Hooks<float> hooks;
  if (cuts) hooks.gradient_filter = cut_below_2_27(cut, all);
  const std::string name = fmt::format("shift {}{}", shift, cuts ? " cut" : "");
  const TrainingLog log = input.trainings.run(name, mlp, recipe, hooks);
  const double share = cuts ? static_cast<double>(cut) / static_cast<double>(all) : 0;
  figures["trainings"].push_back({{"loss_times_2_to", -shift},
                                  {"cut", cuts},
                                  {"of_nonzero", share},
                                  {"test_accuracy", log.test_accuracy}});
  return log.test_accuracy;
}

Measured below_2_27_irrelevant(const ClaimInput& input) {
  constexpr int shift = 24;
  Measured out;
  const double whole = accuracy_with(input, 0, false, out.figures);
  const double cut = accuracy_with(input, 0, true, out.figures);
  const double small = accuracy_with(input, shift, false, out.figures);
  const double small_cut = accuracy_with(input, shift, true, out.figures);
  out.fails = small_cut < small - 0.2;
  out.holds = std::abs(cut - whole) < 0.01 && std::abs(small - whole) < 0.01 && whole > 0.9;
  out.words = fmt::format("cut: accuracy {} for {}; gradients 2^-{} times as large: {} for {}",
                          percent(cut), percent(whole), shift, percent(small_cut), percent(small));
  return out;
}

/// The dtype of a loss, and the gradient with which its backward pass begins: the loss scale 65536,
/// rounded to that dtype.
struct Seeded {
  Format dtype;
  float seed = 0;
};

Seeded mse_of_half(bool autocasts) {
  Tape<float> tape;
  const Var x = tape.input(Tensor<float>({2}, binary16, {0.5F, 1.0F}));
  const Var target = tape.constant(Tensor<float>({2}, binary16, {0.25F, 1.0F}));
  std::optional<Autocast> scope;
  if (autocasts) scope.emplace(DeviceType::cuda);
  const Var loss = mse_loss(tape, x, target);
  scope.reset();
  tape.backward(loss, 65536);
  return {tape.dtype(loss), tape.gradient(loss)[0]};
}

Measured loss_in_fp16(const ClaimInput& input) {
  constexpr std::int64_t steps = 5;
  const auto losses = [](CastPolicy policy) {
    std::size_t count = 0;
    for (const ListedOp& op : op_list(DeviceType::cuda)) {
      count += op.policy == policy && op.name.find("loss") != std::string_view::npos ? 1 : 0;
    }
    return count;
  };
  const std::size_t wide = losses(CastPolicy::fp32), low = losses(CastPolicy::lower_precision_fp);
  const Seeded native = mse_of_half(true), half = mse_of_half(false);
  const TrainingLog in_half =
      input.trainings.run("loss in FP16", mlp, half_recipe(steps, "half", "torch"));
  const TrainingLog in_single =
      input.trainings.run("loss in FP32", mlp, half_recipe(steps, "native", "torch"));
  const bool skips = in_half.steps[0].skipped, skips_native = in_single.steps[0].skipped;
  return {.fails = std::isinf(half.seed) && skips,
          .holds = half.dtype == binary16 && native.dtype == binary32 && native.seed == 65536 &&
                   !skips_native && wide > 10 && low == 0,
          .words = fmt::format("FP16 loss: gradient {}, first step {}; under autocast {}: {}, {}",
                               half.seed, skips ? "skipped" : "taken", format_name(native.dtype),
                               native.seed, skips_native ? "skipped" : "taken"),
          .figures = {{"losses_on_fp32_list", wide},
                      {"losses_on_low_list", low},
                      {"fp16_seed_is_inf", std::isinf(half.seed)},
                      {"autocast_loss", format_name(native.dtype)},
                      {"autocast_seed", native.seed},
                      {"fp16_first_step_skipped", skips},
                      {"fp16_skipped", in_half.skipped},
                      {"native_first_step_skipped", skips_native},
                      {"native_skipped", in_single.skipped}}};
}

/// What a GradScaler did in some steps with a single gradient, which is a function of the scale.
struct Scaled {
  float scale = 0;  ///< at the end
  int taken = 0;    ///< steps that were not skipped
  float last = 0;   ///< the last gradient, unscaled
};

Scaled scaler_run(int steps, float (*gradient)(float scale)) {
  GradScaler scaler;
  Scaled out;
  for (int i = 0; i < steps; ++i) {
    std::vector<float> values{gradient(scaler.scale_loss(1))};
    const OptimizerView optimizer{1, {{binary32, values}}, {}};
    out.taken += scaler.step(optimizer) ? 1 : 0;
    out.last = values[0];
    scaler.update();
  }
  out.scale = static_cast<float>(scaler.get_scale());
  return out;
}

/// Returns the gradient of a weight of 300 whose input is 300: the product, 90 000, overflows
/// binary16 in the forward pass, whatever the loss scale is.
float gradient_of_large_reward(float scale) {
  Tape<float> tape;
  const Var reward = tape.constant(Tensor<float>({1, 1}, binary32, {300.0F}));
  const Var weight = tape.input(Tensor<float>({1, 1}, binary32, {300.0F}));
  std::optional<Autocast> scope(DeviceType::cuda);
  const Var loss = mse_loss(tape, linear(tape, reward, weight),
                            tape.constant(Tensor<float>({1, 1}, binary32, {1.0F})));
  scope.reset();
  tape.backward(loss, scale);
  return tape.gradient(weight)[0];
}

Measured scaler_limits_gradients(const ClaimInput&) {
  const auto nan = [](float) { return std::numeric_limits<float>::quiet_NaN(); };
  const Scaled broken = scaler_run(60, nan), longer = scaler_run(200, nan);
  const Scaled large = scaler_run(1, [](float scale) { return 1e30F * scale; });
  const Scaled reward = scaler_run(200, &gradient_of_large_reward);
  return {
      .fails = large.taken == 1 && large.last == 1e30F && reward.taken == 0,
      .holds =
          broken.scale == 0x1p-44F && longer.scale == 0 && longer.taken == 0 && reward.scale == 0,
      .words = fmt::format("1e30 passes as {:.0e}; 60 NaN: S = {:.3g}, 200: {}; overflow in the "
                           "forward pass: {} of 200 steps, S = {}",
                           large.last, broken.scale, longer.scale, reward.taken, reward.scale),
      .figures = {{"of_1e30", large.last},
                  {"scale_after_60_nan", broken.scale},
                  {"scale_after_200_nan", longer.scale},
                  {"taken_with_nan", longer.taken},
                  {"taken_with_forward_overflow", reward.taken},
                  {"scale_with_forward_overflow", reward.scale}}};
}

/// Returns the step, from 1, at which the scale first grows if step `inf_at` has an inf (0: no step
/// has one).
int first_growth(int inf_at) {
  LossScaler scaler(loss_scale_policy("torch"));
  for (int step = 1; step <= 10000; ++step) {
    const float before = scaler.scale();
    scaler.update(step == inf_at);
    if (scaler.scale() > before) return step;
  }
  return 0;
}

Measured scale_grows(const ClaimInput&) {
  LossScaler rare(loss_scale_policy("torch"));
  int growths = 0;
  for (int step = 1; step <= 20000; ++step) {
    const float before = rare.scale();
    rare.update(step % 1500 == 0);
    growths += rare.scale() > before ? 1 : 0;
  }
  const int clean = first_growth(0), after_inf = first_growth(1990);
  return {
      .fails = growths == 0 && clean > 1,
      .holds = clean == 2000 && after_inf == 3990 && rare.scale() == 8,
      .words = fmt::format("grows at step {}; an inf at 1990: at {}; one in 1500: never, S = {}",
                           clean, after_inf, rare.scale()),
      .figures = {{"first_growth", clean},
                  {"first_growth_after_inf_at_1990", after_inf},
                  {"growths_with_inf_every_1500", growths},
                  {"scale_after_20000", rare.scale()}}};
}

/// Returns hooks that add the gradients of activations in the last tenth of the steps to `late`.
Hooks<float> counting_late(RangeSummary& late, std::int64_t steps) {
  Hooks<float> hooks;
  hooks.after_backward = [&late, steps](const StepView<float>& view) {
    if (view.step < steps - steps / 10) return;
    RangeCounter counter({});
    visit_after_backward(view, [&counter](const std::string&, TensorRole role, const Shape&,
                                          const std::vector<float>& values) {
      if (role != TensorRole::d_act) return;
      counter.add(std::as_bytes(std::span(values)), *find_dtype("F32"));
    });
    merge(late, counter.finish());
  };
  return hooks;
}

Measured diverges_without_scaling(const ClaimInput& input) {
  const std::int64_t steps = input.quick ? 220 : 440;
  RangeSummary late;
  const TrainingLog single =
      input.trainings.run("FP32", mlp, recipe_of(steps), counting_late(late, steps));
  const TrainingLog half =
      input.trainings.run("FP16 without scaling", mlp, half_recipe(steps, "native", "none"));
  const double lost =
      static_cast<double>(fates(late, binary16, 0).to_zero) / static_cast<double>(late.nonzero());
  return {.fails = !half.not_finite && half.final_loss() < 0.1 * half.steps[0].loss,
          .holds = std::abs(half.test_accuracy - single.test_accuracy) < 0.01 &&
                   lost > (input.quick ? 0.1 : 0.4),
          .words = fmt::format("S = 1: accuracy {}, FP32 {}; {} of late dAct are 0 in FP16",
                               percent(half.test_accuracy), percent(single.test_accuracy),
                               percent(lost)),
          .figures = {{"steps", steps},
                      {"seed", recipe_of(steps).seed},
                      {"fp16_accuracy", half.test_accuracy},
                      {"fp32_accuracy", single.test_accuracy},
                      {"fp16_first_loss", half.steps[0].loss},
                      {"fp16_final_loss", half.final_loss()},
                      {"late_activation_gradients_to_zero", lost}}};
}

constexpr std::array trained{
    Claim{
        "below_2_27_irrelevant", "Gradients below 2^-27 are irrelevant to training", "over-general",
        "The source says it of Multibox SSD only. A network with smaller gradients learns nothing "
        "without them.",
        &below_2_27_irrelevant, 4},
    Claim{"loss_in_fp16", "The loss is computed in FP16, then multiplied by S", "wrong for AMP",
          "Losses are on the fp32 list. In FP16 S = 65536 is inf, and the first step is skipped.",
          &loss_in_fp16, 2},
    Claim{"scaler_limits_gradients", "GradScaler keeps gradients from becoming too large", "wrong",
          "It only skips steps whose gradients are not finite. A NaN of another cause, or an "
          "overflow "
          "in the forward pass, takes the scale to 0, as it has no floor.",
          &scaler_limits_gradients},
    Claim{"scale_grows", "The scale increases if there is no overflow", "loose",
          "It doubles after 2000 steps in a row without an inf; an inf restarts the count.",
          &scale_grows},
    Claim{"diverges_without_scaling", "Without scaling, the loss would diverge", "often false",
          "Not every network needs a scale. Of the digits' MLP with seed 0 half of the late "
          "activation gradients die in FP16, and its accuracy stays.",
          &diverges_without_scaling, 2}};

}  // namespace

std::span<const Claim> claims_of_training() { return trained; }

}  // namespace binade
