// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a file to a block format, one after the other: values, or codes and scales by the
// names that a stack gives them. One tensor is in memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/block/block_tensor.h"
#include "lib/block/checkpoint_layout.h"
#include "lib/block/copied_tensors.h"
#include "lib/block/scale_layout.h"
#include "lib/format/block_spec.h"
#include "lib/io/chosen_tensors.h"
#include "lib/io/tensor_file.h"

namespace binade {

/// How a file is quantized.
struct BlockFileRule {
  NamedOrCustomBlock format;
  const NamedScaleRule* rule = nullptr;
  Attributes attributes{.saturation = Saturation::finite};
  std::uint64_t seed = 0;
  int axis = -1;                ///< along which K runs
  bool refuses_ragged = false;  ///< short blocks are an error
  /// Along the first of 3 axes or more lie tensors of their own, each with its amax.
  bool stack = false;
  /// Writes codes and scales by these names; null: values.
  const CheckpointLayout* layout = nullptr;
  /// The order of the scales; null: the layout's.
  const ScaleLayout* scale_layout = nullptr;
};

/// Throws Error if the parts of the rule do not go together, before a file is opened.
void check_block_rule(const BlockFileRule& rule);

/// Throws Error if a format's scales have no such order.
void check_scale_layout(const ScaleLayout& layout, const NamedOrCustomBlock& format);

/// Quantizes the chosen tensors into `out`, a .safetensors file, or an .npy of one tensor's values,
/// and returns the counts of each. Tensor n draws from stream n of the random numbers. Numbers of
/// binary64 are rounded to binary32 first; values are rounded once to binary32. Calls
/// progress(done) with the bytes that were read, which are `readings` times those of the tensors.
/// Beside codes and scales `copied` tensors are written as they are.
/// Throws Error if the file cannot be read or `out` not written, or if a tensor has no such axis.
std::vector<BlockCounts> quantize_block_file(const BlockFileRule& rule, const TensorFile& file,
                                             const ChosenTensors& chosen, const std::string& out,
                                             const std::function<void(std::uint64_t)>& progress,
                                             const CopiedTensors& copied = {});

/// Returns the numbers of a tensor in binary32 and C order. Calls add_bytes with the bytes of each
/// part that was read.
std::vector<float> numbers_of_tensor(const TensorFile& file, std::size_t index,
                                     const std::function<void(std::uint64_t)>& add_bytes);

/// Returns which two axes of a tensor of scales an order takes as rows and columns: all but the
/// last, and the last.
ScaleGrid grid_of(std::span<const std::uint64_t> scale_shape);

/// Returns how often the tensors are read: twice where scales are wider than elements, which stand
/// first in a file.
int readings(const BlockFileRule& rule);

/// Returns the counts as lines of tables: elements as event_columns.h has them, then scales, with
/// the name of their rule.
std::string block_counts_text(const BlockFileRule& rule, const TensorFile& file,
                              const ChosenTensors& chosen, const std::vector<BlockCounts>& counts);

/// Returns the counts of a tensor's scales as JSON.
nlohmann::ordered_json scale_counts_json(const BlockCounts& counts);

}  // namespace binade
