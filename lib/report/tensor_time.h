// SPDX-License-Identifier: Apache-2.0
//
// Where in a training run a tensor was: "step000440/blocks.0.attn.qkv/dW" is the gradient of a
// layer's weight in step 440.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace binade {

/// What a tensor is in its layer: output, gradient of the output, weight before the update,
/// gradient of the weight, and what the update subtracts from the weight.
enum class TensorRole : std::uint8_t { act, d_act, weight, d_weight, update };
inline constexpr std::array<std::string_view, 5> tensor_role_names{"act", "dAct", "weight", "dW",
                                                                   "update"};

constexpr std::string_view name_of(TensorRole role) {
  return tensor_role_names[static_cast<std::size_t>(role)];
}

/// Gradients are what a loss scale multiplies.
constexpr bool is_gradient(TensorRole role) {
  return role == TensorRole::d_act || role == TensorRole::d_weight;
}

struct TensorTime {
  std::uint64_t step = 0;  ///< at most 2^53, so that JSON's numbers hold it
  std::string layer;       ///< any text that is not empty, slashes included
  TensorRole role = {};

  friend bool operator==(const TensorTime&, const TensorTime&) = default;
};

/// Of a name "step<decimal digits>/<layer>/<role>"; nothing of any other.
std::optional<TensorTime> tensor_time(std::string_view name);

}  // namespace binade
