// SPDX-License-Identifier: Apache-2.0
//
// The parts of quantized tensors in a file: which tensors are the codes, the scales and the scale
// of the tensor of one, by the names of checkpoint_layout.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/block/checkpoint_layout.h"
#include "lib/io/tensor_file.h"

namespace binade {

/// The places of the parts of one tensor in TensorFile::tensors().
struct QuantizedParts {
  std::size_t codes = 0, scales = 0;
  std::optional<std::size_t> tensor = {};
  std::vector<const CheckpointLayout*> layouts = {};  ///< that have these names; at least one
};

/// The tensors of a file by their names; lives as long as the file.
using TensorPlaces = std::unordered_map<std::string_view, std::size_t>;
TensorPlaces tensor_places(const TensorFile& file);

/// Returns the parts of a tensor by the first layout that has codes and scales of it, and all
/// layouts by which they are the same.
std::optional<QuantizedParts> parts_of_tensor(const TensorPlaces& places, std::string_view name);

/// Returns the tensors of which a file has codes and scales, in the order of their scales.
std::vector<std::string> quantized_names(const TensorFile& file, const TensorPlaces& places);

/// A tensor of a file that is a part, by the dtype and the end of its name, but lacks the others.
struct LonePart {
  std::size_t index = 0;  ///< in TensorFile::tensors()
  std::string_view what;  ///< "codes without scales"
};

/// Returns parts that none of the tensors of quantized_names() has, codes first.
std::vector<LonePart> lone_parts(const TensorFile& file, const TensorPlaces& places,
                                 const std::vector<std::string>& names);

/// Returns "fc.weight: U8 (16, 32), codes without scales".
std::string lone_part_text(const TensorFile& file, const LonePart& part);

/// An array as it is stored, in C order.
struct StoredArray {
  Dtype dtype;
  std::vector<std::uint64_t> shape = {};
  std::vector<std::byte> bytes = {};
};

/// Reads a tensor. Throws Error if the file cannot be read.
StoredArray stored_array(const TensorFile& file, std::size_t index);

/// Returns the one number of binary32 of a tensor, as bits, or those of a stack of tensors. Throws
/// Error if it holds another thing.
std::uint32_t stored_number(const TensorFile& file, std::size_t index);
std::vector<std::uint32_t> stored_numbers(const TensorFile& file, std::size_t index,
                                          std::size_t most);

}  // namespace binade
