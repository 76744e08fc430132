// SPDX-License-Identifier: Apache-2.0
//
// How stored codes and scales can be read: in which block format, whether of the tensor or of its
// transpose, along which axis blocks lie, in which orders scales. Sizes and dtypes alone decide
// what is possible. A tensor of shape (64, 64) with 64 · 32 bytes of codes and 128 of scales:
//
//     mxfp4, axis 1    scales (64, 2) row_major, or of the transpose; as (64, 2) in deepgemm's order
//     mxfp4, axis 0    scales (2, 64) …, and both of the transposed tensor
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulate/block_packing.h"
#include "lib/block/block_view.h"
#include "lib/block/scale_layout.h"
#include "lib/format/block_spec.h"
#include "lib/scales/quantized.h"

namespace binade {

/// An order of scales: a layout of their matrix, or of its transpose.
struct StoredOrder {
  const ScaleLayout* layout;
  bool of_transpose = false;
  /// Layouts, this one first, that put every scale of the grid into the same place.
  std::vector<std::string_view> same = {};
  bool is_turned_rows = false;  ///< it is row_major of the transpose, too
};

/// Returns "row_major", "8x4 or deepgemm of the transpose", "te_1d, row_major of the transpose".
std::string order_text(const StoredOrder& order);

struct ScaleReading {
  NamedOrCustomBlock format;
  bool transposed = false;  ///< the codes are of the tensor with its last two axes exchanged
  std::vector<std::uint64_t> shape = {};  ///< of what the codes are of
  std::size_t axis = 0;                   ///< of that, along which blocks lie
  BlockView view = {};
  std::vector<StoredOrder> orders = {};  ///< of so many scales; at least one
};

/// Returns all readings that fit the sizes and dtypes, in one format or in all that are known.
std::vector<ScaleReading> scale_readings(const Quantized& given,
                                         const std::optional<NamedOrCustomBlock>& format);

/// The stored scales, row by row of a reading, as codes of the scales' format.
struct StoredScales {
  std::vector<std::uint32_t> codes = {};
  /// Bits stand beside those of the format, as no rule writes them: signs.
  std::uint64_t signs = 0;
  /// Numbers of binary32 are kept in this narrower format.
  std::optional<Format> held = {};
  /// Codes other than 0: in all places, and in those that are a block's.
  std::uint64_t stored = 0, of_blocks = 0;
  /// Blocks of zeros that all have one scale, which may be any: with it they are free. Empty: none.
  std::vector<bool> free = {};

  bool is_free(std::size_t block) const { return !free.empty() && free[block]; }
  /// Returns how many places that fill an order up hold other bits than 0.
  std::uint64_t filled() const { return stored - of_blocks; }
  /// Returns the share of what is stored that the blocks have: less than 1 speaks against an order.
  double weight() const {
    return stored == 0 ? 1 : static_cast<double>(of_blocks) / static_cast<double>(stored);
  }
};

StoredScales stored_scales(const Quantized& given, const ScaleReading& reading,
                           const StoredOrder& order);

/// How codes lie in bytes, and which bits of them are what.
struct CodeReading {
  std::string_view name;
  std::string_view words;  ///< of what is no usual one; empty: as all stacks have it
  /// The same of formats whose codes are in two's complement; empty: `words`.
  std::string_view words_of_complement = {};
  NibbleOrder order = NibbleOrder::low_first;
  bool is_packed = false;  ///< for codes of 4 bits, two in a byte
  /// What is stored in the place of a code of so many bits; null: the same.
  std::uint32_t (*stored_as)(std::uint32_t code, int bits) = nullptr;
};

/// Returns what a way in which codes lie in bytes is called.
std::string_view code_words(const CodeReading& how, const BlockFormat& format);

/// The table, the usual one first.
extern const std::span<const CodeReading> code_readings;

/// Returns the stored codes in containers of code_bytes(element format) bytes, in C order of a
/// reading's shape.
std::vector<std::byte> stored_codes(const Quantized& given, const ScaleReading& reading,
                                    NibbleOrder order);

/// Returns whether the reading's codes are two in a byte.
bool codes_are_packed(const Quantized& given, const ScaleReading& reading);

/// Returns the numbers with their last two axes exchanged.
std::vector<float> transposed_numbers(std::span<const float> x,
                                      std::span<const std::uint64_t> shape);

}  // namespace binade
