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

/// Globs over the names of tensors, as shells have them: * and ? and [a-z].
struct NameGlobs {
  std::vector<std::string> include = {}, exclude = {};  ///< no include: all

  bool empty() const { return include.empty() && exclude.empty(); }
};

/// Keeps those that an include takes and no exclude does, and returns all other tensors of the
/// file. Throws Error if a glob takes no name of those that were chosen, or none is left.
std::vector<std::size_t> keep_chosen(ChosenTensors& chosen, const TensorFile& file,
                                     const NameGlobs& globs);

}  // namespace binade
