// SPDX-License-Identifier: Apache-2.0
//
// The globals (classes and functions) that pickles of torch may name, and what each stands for. A
// global that is in no row is refused by name.
#pragma once

#include <string_view>

namespace binade {

/// What calling a global gives, or what the global itself is. Comments in parentheses list the
/// arguments of the call.
enum class TorchMeaning {
  plain,         ///< nothing that is, or holds, a tensor that users look for
  dict,          ///< made without arguments, then filled
  default_dict,  ///< made without arguments or with the factory of its values
  counter,       ///< made from a dict
  sizes,
  dtype,
  storage,         ///< a class of storages, of the dtype in `of` or of bytes
  tensor,          ///< (storage, offset, sizes, strides, ...), of the storage's dtype
  untyped_tensor,  ///< (storage of bytes, offset, sizes, strides, requires_grad, hooks, dtype, ...)
  parameter,       ///< (tensor, ...)
  device_tensor,   ///< (tensor, its dtype, device, requires_grad)
  with_attributes,  ///< (function, class, arguments, attributes)
  /// A tensor whose elements are not a view of one storage; `of` says what the user can do.
  refused,
};

struct TorchGlobal {
  std::string_view name;
  TorchMeaning meaning;
  /// For a dtype or a storage, safetensors' name of the dtype; for `refused`, what to do about it.
  std::string_view of = "";
};

/// Returns the row of a global, or null if there is none. Globals are found under their names in
/// Python 2, too, which protocol 2 uses.
const TorchGlobal* find_torch_global(std::string_view name);

}  // namespace binade
