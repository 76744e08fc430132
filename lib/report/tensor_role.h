// SPDX-License-Identifier: Apache-2.0
//
// What a tensor is, judged by its name: its role in a layer, and where in a training run it comes
// from. PyTorch's "fc1.weight.grad" and "step000440/blocks.0.attn.qkv/dW" are both gradients of a
// weight.
//
// A name is split into parts (name_parts.h), in which words of a table are looked up. The first of
// these roles that a word says is taken; the "edge" of a name is its last part, or its first if a
// slash follows it:
//   state of an optimizer: words such as exp_avg or momentum_buffer in any part, unless a whole last
//     part is a gradient word (then only the first part may say state); words that are also names of
//     modules (ema, momentum, …) only at an edge;
//   gradient: words such as grad, gradients, dAct or wgrad in any part; short words (dW, dx) only in
//     the last or, if no role was found, in the first; the other parts say what it is a gradient of;
//   update, weight, act: at an edge, where for weight and act the last part comes before the first.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace binade {

class NamePattern;

/// What a tensor is in its layer: output, gradient of the output, weight before the update,
/// gradient of the weight, gradient of something unknown, what the update subtracts from the
/// weight, or state of the optimizer.
enum class TensorRole : std::uint8_t { act, d_act, weight, d_weight, gradient, update, state };
inline constexpr std::array<std::string_view, 7> tensor_role_names{"act",  "dAct",   "weight", "dW",
                                                                   "grad", "update", "state"};
/// The role that is shown for tensors whose names say none.
inline constexpr std::string_view other_role = "other";

constexpr std::string_view tensor_role_name(TensorRole role) {
  return tensor_role_names[static_cast<std::size_t>(role)];
}
constexpr std::string_view tensor_role_name(std::optional<TensorRole> role) {
  return role ? tensor_role_name(*role) : other_role;
}

/// Returns the role with exactly this name, or nothing.
constexpr std::optional<TensorRole> find_role(std::string_view name) {
  for (std::size_t i = 0; i < tensor_role_names.size(); ++i) {
    if (tensor_role_names[i] == name) return static_cast<TensorRole>(i);
  }
  return {};
}

/// Returns whether a role is one of gradients, which are what a loss scale multiplies.
constexpr bool is_gradient(TensorRole role) {
  return role == TensorRole::d_act || role == TensorRole::d_weight || role == TensorRole::gradient;
}

/// A rule such as "dW=\.wgrad$": names in which the pattern is found have the role, whatever else
/// they say.
struct RoleRule {
  std::optional<TensorRole> role;  ///< empty for other_role
  std::string text;
  std::shared_ptr<const NamePattern> pattern;
};

/// Parses ROLE=REGEX, where the regex is one of name_pattern.h. Throws Error, which names `option`,
/// for anything else.
RoleRule parse_role_rule(std::string_view option, std::string_view text);

/// Throws Error if a rule has no pattern, or if all together take more than
/// NamePattern::most_steps (name_pattern.h).
void check_rules(std::span<const RoleRule> rules);

/// Returns the first rule that fits the name, or null.
const RoleRule* fitting_rule(std::string_view name, std::span<const RoleRule> rules);

/// Returns the role that the words of the name say.
std::optional<TensorRole> role_of(std::string_view name);

/// Returns whether the last part of the name or a whole part says that the tensor is a gradient;
/// false for "gradient_reversal.fc.weight", where the word is part of a module's name.
bool tells_gradient_outright(std::string_view name);

/// Returns whether the name is that of an optimizer's count of steps: "state.0.step",
/// "optimizer.state.3.step", "state.fc1.weight.step".
bool is_step_count(std::string_view name);

/// Returns whether the name may be a parameter's: it says no state, or says it only by words that
/// parameters have in their names, too ("prior.mu").
bool may_be_parameter(std::string_view name);

/// Returns whether the name of a file says that it holds gradients ("grads.safetensors",
/// "run1_gradients.npz").
bool is_named_as_gradients(std::string_view path);

/// Where in a training run a tensor comes from.
struct TensorTime {
  std::uint64_t step = 0;  ///< at most 2^53, so that JSON's numbers hold it
  std::string layer;       ///< any text that is not empty, slashes included
  TensorRole role = {};

  friend bool operator==(const TensorTime&, const TensorTime&) = default;
};

/// Returns the step and layer in a name "step<decimal digits>/<rest>" whose role is known; nothing
/// for other names. If the last part of the rest follows a slash and is only a word for the role
/// ("fc1/dW"), the layer is the rest without it. Otherwise the layer is the rest without the words
/// for a gradient, an update or state: "fc1.weight.grad" is of the layer fc1.weight.
std::optional<TensorTime> tensor_time(std::string_view name, std::optional<TensorRole> role);

/// Returns whether a name contains a step ("step_10/x", "iter3.loss") but not in the form that
/// tensor_time() reads.
bool misses_time(std::string_view name, const std::optional<TensorTime>& time);

}  // namespace binade
