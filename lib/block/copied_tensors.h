// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are written as they were read, beside those of a file that are quantized or decoded.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lib/io/tensor_file.h"

namespace binade {

struct CopiedTensors {
  std::vector<std::size_t> indices = {};
  std::vector<std::string> left_out = {};  ///< such that no .safetensors file can hold

  /// Calls act(index) for those whose width in bits fits, the widest first.
  void each(const TensorFile& file, const std::function<bool(unsigned)>& fits,
            const std::function<void(std::size_t)>& act) const;
};

/// Returns which of these tensors can be copied.
CopiedTensors tensors_to_copy(const TensorFile& file, std::span<const std::size_t> among);

}  // namespace binade
