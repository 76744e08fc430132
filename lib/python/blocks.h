// SPDX-License-Identifier: Apache-2.0
//
// quantize(), encode() and decode() to and from block formats.
#pragma once

#include <cstdint>

#include "lib/explain/attribute_words.h"
#include "lib/python/arrays.h"

namespace binade::python {

/// What is given for block formats only.
struct BlockArguments {
  nb::handle scale_rule, tensor_amax;
  int axis = -1;
  bool packed = false;  ///< codes of 4 or 6 bits fill bytes along the last axis
};

/// Whether a format is text that names a block format.
bool is_block_format(nb::handle format);

/// Raises ValueError if one of these was given for a format that is no block format.
void refuse_block_arguments(const BlockArguments& given);

nb::object quantize_to_blocks(nb::handle x, nb::handle format, const AttributeOptions& words,
                              std::uint64_t seed, const BlockArguments& given, bool counts,
                              nb::handle out);
nb::object encode_to_blocks(nb::handle x, nb::handle format, const AttributeOptions& words,
                            std::uint64_t seed, const BlockArguments& given, bool counts,
                            bool as_dtype, nb::handle out);
nb::object decode_blocks(nb::handle codes, nb::handle format, nb::handle scales,
                         nb::handle tensor_scale, int axis, bool packed, nb::handle out);

}  // namespace binade::python
