// SPDX-License-Identifier: Apache-2.0
//
// What a tensor is, by its name: its role in a layer, and where in a training run it was. PyTorch's
// "fc1.weight.grad" and "step000440/blocks.0.attn.qkv/dW" both are the gradient of a weight.
//
// Words of name_parts.cpp's table in the parts of a name tell the role, the first of these that is there:
//   state of an optimizer (exp_avg, momentum_buffer, …) in any part; words that modules are called by too (ema,
//     momentum, …) at an edge: in the last part, or in the first where a slash follows it;
//   a gradient (grad, gradients, dAct, wgrad, …) in any part, short words (dW, dx) in the last one: of what the other
//     parts tell;
//   update; weight; act, at an edge, the last part before the first.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace binade {

/// What a tensor is in its layer: output, gradient of the output, weight before the update, gradient of
/// the weight, a gradient of something untold, what the update subtracts from the weight, and state of the optimizer.
enum class TensorRole : std::uint8_t { act, d_act, weight, d_weight, gradient, update, state };
inline constexpr std::array<std::string_view, 7> tensor_role_names{"act",  "dAct",   "weight", "dW",
                                                                   "grad", "update", "state"};
/// What tensors are called whose name tells no role.
inline constexpr std::string_view other_role = "other";

constexpr std::string_view tensor_role_name(TensorRole role) {
  return tensor_role_names[static_cast<std::size_t>(role)];
}
constexpr std::string_view tensor_role_name(std::optional<TensorRole> role) {
  return role ? tensor_role_name(*role) : other_role;
}

/// By its name, exactly.
constexpr std::optional<TensorRole> find_role(std::string_view name) {
  for (std::size_t i = 0; i < tensor_role_names.size(); ++i) {
    if (tensor_role_names[i] == name) return static_cast<TensorRole>(i);
  }
  return {};
}

/// Gradients are what a loss scale multiplies.
constexpr bool is_gradient(TensorRole role) {
  return role == TensorRole::d_act || role == TensorRole::d_weight || role == TensorRole::gradient;
}

/// "dW=\.wgrad$": names in which the pattern is found have the role, whatever else they tell.
struct RoleRule {
  std::optional<TensorRole> role;  ///< nothing: other_role
  std::string text;
  std::shared_ptr<const void> pattern;  ///< a regex_t
};

/// ROLE=REGEX, the regex as POSIX's extended ones are (grep -E). Error, of `option`, on anything else.
RoleRule parse_role_rule(std::string_view option, std::string_view text);

/// Whether a rule speaks of the name.
bool fits_any(std::string_view name, std::span<const RoleRule> rules);

/// The first rule that fits, else what the name's words tell.
std::optional<TensorRole> role_of(std::string_view name, std::span<const RoleRule> rules = {});

/// Whether a word says that it is a gradient, and not the name of a module ("gradient_reversal.fc.weight").
bool tells_gradient_outright(std::string_view name);

/// Whether it is state only by words that parameters are called by too ("prior.mu"), or none.
bool may_be_parameter(std::string_view name);

/// Whether a file is named as one of gradients is ("grads.safetensors", "run1_gradients.npz").
bool is_named_as_gradients(std::string_view path);

struct TensorTime {
  std::uint64_t step = 0;  ///< at most 2^53, so that JSON's numbers hold it
  std::string layer;       ///< any text that is not empty, slashes included
  TensorRole role = {};

  friend bool operator==(const TensorTime&, const TensorTime&) = default;
};

/// Of a name "step<decimal digits>/<rest>" whose role is known. The layer is the rest without its last part if that
/// follows a slash and tells the role by itself ("fc1/dW"), else without what says that it is a gradient, an update or state
/// ("fc1.weight.grad" is of the layer fc1.weight). Nothing of any other name.
std::optional<TensorTime> tensor_time(std::string_view name, std::optional<TensorRole> role);

/// Whether a name begins as one of a step ("step_10/x", "iter3.loss"), but is none that tensor_time() takes.
bool misses_time(std::string_view name, const std::optional<TensorTime>& time);

}  // namespace binade
