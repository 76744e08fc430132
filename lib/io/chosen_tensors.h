// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of a file are rounded: those of floating-point numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/io/tensor_file.h"

namespace binade {

/// The tensors of a file that are rounded, and what is said of the others.
struct ChosenTensors {
  std::vector<std::size_t> indices;
  std::uint64_t bytes = 0;  ///< of these in the file
  std::vector<std::string> left_out;
};

/// Returns the floating-point tensors. Throws Error if there is none, or if some are codes whose
/// scales are other tensors.
ChosenTensors choose_tensors(const TensorFile& file);

}  // namespace binade
