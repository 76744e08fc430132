// SPDX-License-Identifier: Apache-2.0
//
// What stacks call the parts of a quantized tensor in their files, and how they hold them: a row of
// a table each. The parts of "model.fc.weight" in nvfp4:
//
//     plain                 model.fc.weight          …weight_scale   …weight_scale_2       decode
//     modelopt              model.fc.weight          …weight_scale   …weight_scale_2       decode
//     compressed-tensors    model.fc.weight_packed   …weight_scale   …weight_global_scale  encode
//     torchao               model.fc._weight_qdata   …_weight_scale  …_weight_per_tensor_scale
//
// Elements of 4 bits are two to a byte, the first one in its low half. A scale of the tensor by
// which values are multiplied is decode's, its reciprocal encode's (TensorScale).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "emulate/scale_rules.h"
#include "lib/block/scale_layout.h"

namespace binade {

/// What a file holds of the scale of a tensor.
enum class TensorScalePart : std::uint8_t { decode, encode, amax };

struct CheckpointLayout {
  std::string_view name;
  /// Names of the parts, in which {name} is the tensor's, {layer} and {last} what stands before and
  /// behind its last dot.
  std::string_view elements, scales, tensor;
  TensorScalePart part = TensorScalePart::decode;
  int tensor_axes = 0;  ///< of the array that holds it, of 1 each
  /// Of scale_layout.h; that of a format is the first that is of its scales.
  std::string_view scale_layouts = "row_major";
  std::string_view formats{};   ///< block formats that the stack has; empty: all
  std::string_view as_bytes{};  ///< dtypes that it writes as U8
  std::string_view rules{};     ///< its scale rules, of which the first that fits is meant
  bool as_rows = false;         ///< blocks of several rows lie in all axes but the last as one
  bool block_axis = false;      ///< the codes of a block have an axis of their own, the last
  /// Ends of names of tensors that its files have beside these, and that are not read.
  std::string_view unread{};
  std::string_view source{};
};

extern const std::span<const CheckpointLayout> checkpoint_layouts;

/// Returns the layout of a name. Throws Error, which lists the names, if there is none.
const CheckpointLayout& parse_checkpoint_layout(std::string_view name);

/// Returns the order in which a layout has the scales of a format.
const ScaleLayout& scale_layout_of(const CheckpointLayout& layout, const BlockFormat& format);

/// Returns the rule of a layout's stack that fits the format, or else `usual`. Throws Error where
/// the stack has this format, and none of its rules is known.
const NamedScaleRule& usual_rule(const CheckpointLayout& layout, const BlockFormat& format,
                                 const NamedScaleRule& usual);

/// Returns a part's name.
std::string part_name(std::string_view pattern, std::string_view tensor);

/// Returns the tensor of which a part has this name by the pattern, if there is one.
std::optional<std::string> name_of_part(std::string_view pattern, std::string_view part);

}  // namespace binade
