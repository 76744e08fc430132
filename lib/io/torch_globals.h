// SPDX-License-Identifier: Apache-2.0
//
// The globals that torch's pickles may ask for, and what each stands for. What is in no row is refused by name.
#pragma once

#include <string_view>

namespace binade {

/// What a global's result is, or the global itself.
enum class TorchMeaning {
  plain,         ///< no tensor, and none in it that anybody asks for
  dict,          ///< made of nothing
  default_dict,  ///< made of nothing, or of what makes its values
  counter,       ///< made of a dict
  sizes,
  dtype,
  storage,         ///< of a row's dtype, or of bytes
  tensor,          ///< (storage, offset, sizes, strides, ...) of the storage's dtype
  untyped_tensor,  ///< (storage of bytes, offset, sizes, strides, requires_grad, hooks, dtype, ...)
  parameter,       ///< (tensor, ...)
  device_tensor,   ///< (tensor, its dtype, device, requires_grad)
  with_attributes,  ///< (function, class, arguments, attributes)
  refused,  ///< a tensor whose elements are not a view of one storage; a row says what to do
};

struct TorchGlobal {
  std::string_view name;
  TorchMeaning meaning;
  std::string_view of = "";  ///< safetensors' name of a dtype; what to do about a refusal
};

/// Null where there is none; under the names of Python 2 too, which protocol 2 has.
const TorchGlobal* find_torch_global(std::string_view name);

}  // namespace binade
