// SPDX-License-Identifier: Apache-2.0
//
// Claims about which ops run in which format under autocast. They are checked by PyTorch's lists
// and by one training step of the digits MLP.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "experiments/claims.h"
#include "experiments/draws.h"
#include "lib/amp/autocast.h"
#include "lib/amp/grad_scaler.h"
#include "lib/text/error.h"
#include "lib/train/model.h"
#include "lib/train/ops.h"
#include "lib/train/optimizer.h"
#include "lib/train/tensor_core_products.h"

namespace binade {
namespace {

Tensor<float> normal_tensor(Shape shape, std::uint64_t stream, const Format& dtype = binary32) {
  Tensor<float> out(std::move(shape));
  Draws draws(11, stream);
  for (float& x : out.values) x = static_cast<float>(draws.normal());
  out.dtype = dtype;
  round_to(dtype, std::span(out.values));
  return out;
}

/// One step of the digits MLP on random data; products are computed as by the instructions of
/// sm_90.
struct Step {
  ProductSettings products = tensor_core_products({});
  ProductTally tally;
  Model<float> model = make_mlp<float>({}, 0);
  std::unique_ptr<Tape<float>> tape;
  Var logits, loss;
};

enum class Scope { none, forward, forward_and_backward };

std::unique_ptr<Step> step_with(Scope scope) {
  auto out = std::make_unique<Step>();
  out->products.tally = &out->tally;
  out->tape = std::make_unique<Tape<float>>(out->products);
  Batch<float> batch{.inputs = normal_tensor({32, 64}, 0), .tokens = {}, .rows = 32, .targets = {}};
  for (int i = 0; i < 32; ++i) batch.targets.push_back(i % 10);
  std::optional<Autocast> autocast;
  if (scope != Scope::none) autocast.emplace(DeviceType::cuda);
  out->logits = out->model.forward(*out->tape, batch, true);
  out->loss = cross_entropy(*out->tape, out->logits, batch.targets);
  if (scope == Scope::forward) autocast.reset();
  out->tape->backward(out->loss);
  return out;
}

/// Counts the non-zero values, and those of them that binary16 holds exactly.
struct OnGrid {
  std::size_t of = 0, all = 0;
  void add(std::vector<float> values) {
    const std::vector<float> before = values;
    round_to(binary16, std::span(values));
    for (std::size_t i = 0; i < values.size(); ++i) {
      all += before[i] != 0 ? 1 : 0;
      of += before[i] != 0 && values[i] == before[i] ? 1 : 0;
    }
  }
};

OnGrid gradients_on_grid(const Step& step) {
  OnGrid out;
  for (const auto& [name, x] : step.tape->watched()) out.add(step.tape->gradient(x));
  for (const auto& parameter : step.model.parameters) out.add(parameter->gradient);
  return out;
}

Measured fp16_not_in_backward(const ClaimInput&) {
  const auto mixed = step_with(Scope::forward), single = step_with(Scope::none);
  const OnGrid in_mixed = gradients_on_grid(*mixed), in_single = gradients_on_grid(*single);
  const ProductTally &tally = mixed->tally, &other = single->tally;
  bool half_operands = true, inexact = false, none_in_single = true;
  nlohmann::ordered_json passes;
  for (std::size_t pass = 0; pass < pass_names.size(); ++pass) {
    const EventCounts &a = tally.a[pass], &b = tally.b[pass];
    half_operands = half_operands && tally.products[pass] > 0 && a.values > 0 && b.values > 0;
    inexact = inexact || a.inexact + b.inexact != 0;
    none_in_single = none_in_single && other.a[pass].values == 0;
    passes[std::string(pass_names[pass])] = {{"products", tally.products[pass]},
                                             {"binary16_operands", a.values + b.values}};
  }
  const std::uint64_t backward = tally.products[1] + tally.products[2];
  return {.fails = backward > 0 && in_mixed.of > 0,
          .holds = half_operands && !inexact && none_in_single && in_mixed.of == in_mixed.all &&
                   in_single.of < in_single.all / 10,
          .words = fmt::format("{} of {} FP16 products are dgrad or wgrad; {} of {} gradients on "
                               "FP16's grid",
                               backward, backward + tally.products[0], in_mixed.of, in_mixed.all),
          .figures = {{"passes", passes},
                      {"gradients", in_mixed.all},
                      {"on_binary16_grid", in_mixed.of},
                      {"without_autocast", in_single.all},
                      {"without_autocast_on_grid", in_single.of}}};
}

std::size_t different_gradients(const Step& a, const Step& b, std::size_t& all) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.model.parameters.size(); ++i) {
    const std::vector<float>&x = a.model.parameters[i]->gradient,
          &y = b.model.parameters[i]->gradient;
    all += x.size();
    for (std::size_t j = 0; j < x.size(); ++j) different += bits_of(x[j]) != bits_of(y[j]) ? 1 : 0;
  }
  return different;
}

/// Computes dY·W as a call of matmul, as a backward pass does that a user writes for a layer whose
/// forward pass ran in binary32.
Tensor<float> written_backward(bool under_autocast) {
  Tape<float> tape;
  std::optional<Autocast> scope;
  if (under_autocast) scope.emplace(DeviceType::cuda);
  const Var gradient = tape.constant(normal_tensor({16, 32}, 1));
  const Var weight = tape.constant(normal_tensor({32, 8}, 2));
  return tape.value(matmul(tape, gradient, weight));
}

Measured backward_under_autocast(const ClaimInput&) {
  const auto outside = step_with(Scope::forward), within = step_with(Scope::forward_and_backward);
  std::size_t all = 0;
  const std::size_t different = different_gradients(*outside, *within, all);
  const Tensor<float> right = written_backward(false), cast = written_backward(true);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    changed += right.values[i] != cast.values[i] ? 1 : 0;
  return {.fails = different == 0 && all > 0,
          .holds = right.dtype == binary32 && cast.dtype == binary16 && changed > right.size() / 2,
          .words = fmt::format("{} of {} gradients differ; a written-out FP32 backward becomes {}",
                               different, all, format_name(cast.dtype)),
          .figures = {{"gradients", all},
                      {"different", different},
                      {"written_backward_outside", format_name(right.dtype)},
                      {"written_backward_within", format_name(cast.dtype)},
                      {"values_changed", changed},
                      {"values", right.size()}}};
}

/// The formats that an optimizer sees after one backward pass of the digits MLP.
struct Stepped {
  Format weights, gradients, stepped;  ///< stepped: of the gradients that the optimizer uses
  std::string error;  ///< message of GradScaler::unscale_ for the model's own gradients
};

Stepped gradients_of(const Format& dtype) {
  Model<float> model = make_mlp<float>({}, 0);
  cast_model(model, dtype, false);
  Tape<float> tape;
  Batch<float> batch{
      .inputs = normal_tensor({8, 64}, 3, dtype), .tokens = {}, .rows = 8, .targets = {}};
  batch.targets.assign(8, 1);
  std::optional<Autocast> scope;
  if (dtype == binary32) scope.emplace(DeviceType::cuda);
  const Var loss = cross_entropy(tape, model.forward(tape, batch, true), batch.targets);
  scope.reset();
  tape.backward(loss);
  Parameter<float>& weight = *model.parameters.front();
  Optimizer<float> optimizer(model.pointers(), {.master_weights = true});
  Stepped out{weight.value.dtype, weight.value.dtype, optimizer.gradients().front().dtype, {}};
  GradScaler scaler;
  static_cast<void>(scaler.scale_loss(1));
  try {
    scaler.unscale_({1, {{weight.value.dtype, weight.gradient}}, {}});
  } catch (const Error& error) {
    out.error = error.what();
  }
  return out;
}

Measured weights_in_fp16(const ClaimInput&) {
  const Stepped native = gradients_of(binary32), o2 = gradients_of(binary16);
  return {.fails = native.weights == binary32 && native.gradients == binary32,
          .holds = native.error.empty() && o2.weights == binary16 && o2.stepped == binary32 &&
                   o2.error == "Attempting to unscale FP16 gradients.",
          .words = fmt::format("native: weights and .grad {}; O2: {}, its unscale_: \"{}\"",
                               format_name(native.weights), format_name(o2.weights), o2.error),
          .figures = {{"native_weights", format_name(native.weights)},
                      {"native_gradients", format_name(native.gradients)},
                      {"native_error", native.error},
                      {"o2_weights", format_name(o2.weights)},
                      {"o2_stepped", format_name(o2.stepped)},
                      {"o2_error", o2.error}}};
}

/// Returns the policy of each op on CUDA's list.
nlohmann::ordered_json policies_of(std::span<const std::string_view> ops) {
  nlohmann::ordered_json out;
  for (const std::string_view op : ops) {
    out[std::string(op)] = cast_policy_name(cast_policy(DeviceType::cuda, op));
  }
  return out;
}

bool all_unlisted(std::span<const std::string_view> ops) {
  return std::ranges::all_of(ops, [](std::string_view op) {
    return cast_policy(DeviceType::cuda, op) == CastPolicy::unlisted;
  });
}

bool all_in_binary32(std::span<const std::string_view> ops) {
  const Autocast scope(DeviceType::cuda);
  return std::ranges::all_of(ops, [](std::string_view op) {
    return autocast_dtype(DeviceType::cuda, op, std::array{binary16}) == binary32;
  });
}

/// Returns in how many formats the largest of some rounded numbers is the rounded largest number;
/// adds the number of formats tried to `all`.
std::size_t formats_with_exact_max(std::size_t& all) {
  std::vector<double> x(4096);
  Draws draws(12, 0);
  for (double& value : x) value = draws.normal();
  std::size_t exact = 0;
  for (const NamedFormat& row : formats) {
    if (!row.format.has_sign) continue;
    all += 1;
    double top = *std::ranges::max_element(x);
    std::vector<double> rounded = x;
    round_to(row.format, std::span(rounded));
    round_to(row.format, std::span(&top, 1));
    exact += *std::ranges::max_element(rounded) == top ? 1 : 0;
  }
  return exact;
}

Measured mean_in_fp32(const ClaimInput&) {
  constexpr std::array<std::string_view, 9> listed{"sum",         "prod",       "cumsum",
                                                   "cumprod",     "norm",       "softmax",
                                                   "log_softmax", "layer_norm", "group_norm"};
  constexpr std::array<std::string_view, 7> unlisted{"mean", "var", "std", "batch_norm",
                                                     "div",  "max", "min"};
  Tape<float> tape;
  std::size_t all = 0;
  const std::size_t exact = formats_with_exact_max(all);
  const Autocast scope(DeviceType::cuda);
  const Var x = tape.constant(normal_tensor({1000}, 4, binary16));
  const Format of_mean = tape.dtype(mean(tape, x)), of_sum = tape.dtype(sum(tape, x));
  return {.fails = of_mean == binary16 && all_unlisted(unlisted),
          .holds = all_in_binary32(listed) && of_sum == binary32 && exact == all && all > 0,
          .words = fmt::format("of FP16: sum in {}, mean in {}; max is exact in {} of {} formats",
                               format_name(of_sum), format_name(of_mean), exact, all),
          .figures = {{"listed", policies_of(listed)},
                      {"others", policies_of(unlisted)},
                      {"sum", format_name(of_sum)},
                      {"mean", format_name(of_mean)},
                      {"formats", all},
                      {"formats_with_exact_max", exact}}};
}

Measured activations_in_fp16(const ClaimInput&) {
  constexpr std::array<std::string_view, 4> low{"conv2d", "linear", "matmul", "prelu"};
  constexpr std::array<std::string_view, 4> unlisted{"relu", "gelu", "tanh", "sigmoid"};
  constexpr std::array<std::string_view, 4> wide{"exp", "log", "pow", "softplus"};
  Tape<float> tape;
  const Autocast scope(DeviceType::cuda);
  const Var half = tape.constant(normal_tensor({64}, 5, binary16));
  const Var single = tape.constant(normal_tensor({64}, 5));
  const Format relu_half = tape.dtype(relu(tape, half)),
               relu_single = tape.dtype(relu(tape, single));
  const Format exp_half = tape.dtype(exp(tape, half));
  const bool low_in_half = std::ranges::all_of(low, [](std::string_view op) {
    return autocast_dtype(DeviceType::cuda, op, std::array{binary32}) == binary16;
  });
  return {
      .fails = relu_single == binary32 && exp_half == binary32,
      .holds =
          low_in_half && all_unlisted(unlisted) && all_in_binary32(wide) && relu_half == binary16,
      .words = fmt::format("relu of FP32 in {}, of FP16 in {}; exp of FP16 in {}",
                           format_name(relu_single), format_name(relu_half), format_name(exp_half)),
      .figures = {{"low", policies_of(low)},
                  {"unlisted", policies_of(unlisted)},
                  {"fp32", policies_of(wide)},
                  {"relu_of_fp32", format_name(relu_single)},
                  {"relu_of_fp16", format_name(relu_half)},
                  {"exp_of_fp16", format_name(exp_half)}}};
}

Format dtype_of_linear(DeviceType device, const Autocast::Options& options) {
  const Autocast scope(device, options);
  Tape<float> tape;
  return tape.dtype(linear(tape, tape.constant(normal_tensor({4, 8}, 6)),
                           tape.constant(normal_tensor({8, 8}, 7))));
}

Measured bf16_only_on_cpu(const ClaimInput&) {
  const Format cuda = dtype_of_linear(DeviceType::cuda, {.dtype = bfloat16});
  const Format cpu = dtype_of_linear(DeviceType::cpu, {});
  const Format cpu_half = dtype_of_linear(DeviceType::cpu, {.dtype = binary16});
  return {.fails = cuda == bfloat16,
          .holds = cpu == bfloat16 && cpu_half == binary16,
          .words = fmt::format("linear: CUDA, asked for BF16, {}; CPU {}, asked for FP16, {}",
                               format_name(cuda), format_name(cpu), format_name(cpu_half)),
          .figures = {{"cuda_bf16", format_name(cuda)},
                      {"cpu_default", format_name(cpu)},
                      {"cpu_fp16", format_name(cpu_half)}}};
}

constexpr std::array autocast_claims{
    Claim{"fp16_not_in_backward", "FP16 is not used in backpropagation", "wrong",
          "An op's backward runs in its forward's dtype: dgrad and wgrad are FP16 products.",
          &fp16_not_in_backward},
    Claim{
        "backward_under_autocast", "Forward and backward both belong under autocast", "wrong",
        "The ops of the forward pass have chosen their formats already, so that no bit changes; "
        "but "
        "an op that a hand-written backward calls is cast even if its forward op was not. PyTorch "
        "advises against it.",
        &backward_under_autocast},
    Claim{"weights_in_fp16", "Weights are stored in FP16, FP16 gradients are divided by S",
          "O2 only",
          "Native AMP keeps parameters and .grad in FP32; GradScaler refuses FP16 gradients.",
          &weights_in_fp16},
    Claim{"mean_in_fp32", "Autocast runs sums, means, norms and maxima in FP32", "partly",
          "sum, prod, cumsum, cumprod, norm, softmax, log_softmax, layer_norm and group_norm are "
          "listed; "
          "mean, var, std, batch_norm, div, max, min are not. max and min are exact in any format.",
          &mean_in_fp32},
    Claim{"activations_in_fp16", "Convolutions and activations run in FP16", "partly",
          "ReLU and its like are on no list and run in their input's dtype; exp, log, pow and "
          "softplus "
          "run in FP32.",
          &activations_in_fp16},
    Claim{"bf16_only_on_cpu", "PyTorch supports bfloat16 only on CPUs", "wrong",
          "CUDA's autocast takes bfloat16; the CPU's default is bfloat16, and it takes FP16 too.",
          &bf16_only_on_cpu}};

}  // namespace

std::span<const Claim> claims_of_autocast() { return autocast_claims; }

}  // namespace binade
