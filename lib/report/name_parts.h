// SPDX-License-Identifier: Apache-2.0
//
// Splits a tensor's name into its parts between '/', '.', ':', '@', brackets and quotes, and says
// what the words in them mean, by a table of words. Digits and underscores at the end of a part do
// not matter ("dW1"). Case matters only where short names need it: "fc1_dW" ends in a gradient and
// "conv_dw" does not, "dA" is one and "da" is not, and "gradWeight" is read as "grad_weight". A
// word may be a whole part, its end ("fc1_weight_grad") or its beginning ("grad_fc1",
// "weight_ih_l0").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

/// The characters that separate the parts of a name.
inline constexpr std::string_view name_separators = "/.:@[]'\"";

/// What a word says about the tensor.
enum class Says : std::uint8_t {
  state,           ///< state of an optimizer, or a buffer
  gradient,        ///< a gradient of what the other parts say
  backward,        ///< like `gradient`, but only as the first part of a name
  d_act,           ///< gradient of an activation: "dgrad", "grad_input"
  d_weight,        ///< gradient of a weight: "wgrad", "grad_weight"
  short_d_act,     ///< "dx": like d_act, but modules have such short names, too
  short_d_weight,  ///< "dW": like d_weight, but "conv_dw" is a convolution
  kept,            ///< "moment", "ema": like `state`, but modules have such names, too
  update,
  weight,
  act,
};

/// A part of a name.
struct NamePart {
  std::string_view text;
  char separator = 0;  ///< the character after the part; 0 if none
  std::optional<Says> says = {};
  std::string rest = {};    ///< the text without the word
  bool number = false;      ///< digits, nothing, or "step10" and the like: it says nothing
  bool by_end = false;      ///< the word is the end of the part
  bool collection = false;  ///< "activations", "params": a collection of tensors
};

/// Returns what the words in one part say.
NamePart read_part(std::string_view text);

/// Returns all parts with their separators, empty ones before a separator included, so that the
/// name can be put together again. An empty name has no parts.
std::vector<NamePart> parts_of(std::string_view name);

/// Returns whether "grad" and the like, next to these words, mean something other than a gradient:
/// "no_grad", "grad_norm".
bool is_no_gradient(std::string_view before, std::string_view after);

}  // namespace binade
