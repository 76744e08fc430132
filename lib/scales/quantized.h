// SPDX-License-Identifier: Apache-2.0
//
// What a block quantizer was given and what it gave: numbers, codes, scales, and the scale of the
// tensor, from files as stacks write them or from arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/block/quantized_parts.h"
#include "lib/format/dtype.h"

namespace binade {

/// The values of the options of `binade scales` of the same names.
struct ScaleFiles {
  std::string a = {};  ///< FILE or FILE:NAME
  std::string b = {};  ///< a file of a layout, FILE or FILE:NAME; empty: codes and scales are given
  std::string codes = {}, scales = {};  ///< FILE or FILE:NAME
  std::string tensor_scale = {};        ///< a number, or FILE or FILE:NAME of one; empty: none
  std::string dtype = {};               ///< of A in raw bytes; empty: the file's
  bool stack = false;  ///< along the first of 3 axes or more lie tensors of their own
};

struct Quantized {
  std::string name;  ///< of the tensor; empty if it has none
  Dtype dtype;       ///< of the numbers
  std::vector<std::uint64_t> shape = {};
  std::vector<float> x = {};  ///< the numbers, rounded to binary32
  StoredArray codes, scales;
  std::optional<std::uint32_t> tensor = {};  ///< the scale of the tensor: bits of binary32
  /// The layouts whose names the parts have; none: arrays.
  std::vector<const CheckpointLayout*> layouts = {};
  bool of_stack = false;  ///< one tensor of a stack
};

/// Calls take(tensor) for each tensor of A whose parts are there, one at a time; of a stack, which
/// files.stack says or a scale for each of several tensors, for each in it: "w[0]". Returns what is
/// held against nothing, where no tensor is named: parts without others, and tensors that A lacks.
/// Throws Error if a file cannot be read, or if no tensor has its parts.
std::vector<std::string> each_quantized(const ScaleFiles& files,
                                        const std::function<void(Quantized&&)>& take);

}  // namespace binade
