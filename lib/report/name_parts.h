// SPDX-License-Identifier: Apache-2.0
//
// A tensor's name, taken apart: the parts between '/', '.', ':', '@' and brackets, and what the words in them say. A
// table of words; case, and numbers at a part's end, do not matter ("dW1"). A part says something by all of it, by its end
// ("fc1_weight_grad") or by its beginning ("grad_fc1", "weight_ih_l0").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

inline constexpr std::string_view name_separators = "/.:@[]'\"";

/// What a word says.
enum class Says : std::uint8_t {
  state,     ///< of an optimizer or a buffer
  gradient,  ///< of what the other parts say
  backward,  ///< the same, in the first part alone
  d_act,
  d_weight,
  short_d_act,     ///< "dx": short words are names of modules too
  short_d_weight,  ///< "dW"; "conv_dw" is a convolution
  kept,            ///< "moment", "ema": state, but names of modules too
  update,
  weight,
  act,
};

struct NamePart {
  std::string_view text;
  char separator = 0;  ///< that follows; 0: none
  std::optional<Says> says = {};
  std::string rest = {};    ///< of the text, without the word
  bool number = false;      ///< digits, or a step ("step10"): it says nothing
  bool by_end = false;      ///< the word is its end
  bool collection = false;  ///< "activations", "params": of many tensors
};

NamePart read_part(std::string_view text);

/// Empty parts among them, so that the name can be put together again.
std::vector<NamePart> parts_of(std::string_view name);

/// Whether "grad" and the like, next to these words, is of something else: "no_grad", "grad_norm".
bool is_no_gradient(std::string_view before, std::string_view after);

}  // namespace binade
