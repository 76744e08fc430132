// SPDX-License-Identifier: Apache-2.0
//
// Files of codes and scales back to values. What the file does not say in its metadata, as
// `binade quantize --encode` writes them, the caller does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/block/quantized_parts.h"
#include "lib/block/scale_layout.h"
#include "lib/format/block_spec.h"
#include "lib/io/tensor_file.h"

namespace binade {

/// How codes and scales are read; what is empty is the file's own.
struct DecodeRule {
  std::optional<NamedOrCustomBlock> format = {};
  std::optional<int> axis = {};               ///< along which K runs; neither says: the last
  const ScaleLayout* scale_layout = nullptr;  ///< neither says: that of the names
  /// By which the scale of a tensor follows from its amax, where files hold that; neither says: te.
  std::string scale_rule = {};
};

/// A tensor that was decoded.
struct DecodedTensor {
  std::string name;
  std::string format;
  std::vector<std::uint64_t> shape = {};
};

struct DecodedFile {
  std::vector<DecodedTensor> tensors = {};
  std::size_t copied = 0;  ///< other tensors, which are written as they are
  std::vector<std::string> left_out = {};
};

/// Writes the values of all tensors of which `file` has codes and scales, in F32, and all others as
/// they are, into `out`, a .safetensors file. Throws Error if the file has no codes and scales, or
/// such that do not go together, or codes alone.
DecodedFile decode_block_file(const DecodeRule& rule, const TensorFile& file,
                              const std::string& out);

}  // namespace binade
