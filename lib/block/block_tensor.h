// SPDX-License-Identifier: Apache-2.0
//
// A tensor in memory to a block format and back, on all threads: codes of its elements, codes of
// the scales of its blocks, and the scale of the tensor, by emulate/block_arrays.h. Any number of
// threads gives the same bits and counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/block_arrays.h"
#include "lib/block/block_counts.h"
#include "lib/block/block_pieces.h"
#include "lib/block/block_view.h"

namespace binade {

struct BlockTensor {
  BlockView view;
  std::vector<std::byte> codes;       ///< of code_bytes(element format) bytes each, in C order
  std::vector<std::uint32_t> scales;  ///< codes of the scales' format
  TensorScale tensor;                 ///< 1 where the format has none
};

/// Writes numbers of any format, in containers of code_bytes(from) bytes, as binary32, to which
/// those that it does not hold are rounded.
void to_binary32(const Format& from, std::span<const std::byte> in, std::span<float> out);

/// Returns the largest magnitude of numbers as a rule takes it (next_amax): bits of binary32.
std::uint32_t amax_of(const ScaleRule& rule, std::span<const float> x);

/// Returns the amaxes of all blocks as a rule takes them: bits of binary32.
std::vector<std::uint32_t> amaxes_of_blocks(const ScaleRule& rule, const BlockView& view,
                                            std::span<const float> x);

/// The scales of all blocks, and what their numbers are multiplied by, or divided by.
struct BlockScales {
  std::vector<std::uint32_t> codes, factors;
};

/// Returns the scales that the amaxes of all blocks give, and, of rules that choose by errors, the
/// numbers.
BlockScales scales_of_blocks(const BlockQuantizer& to, const BlockView& view,
                             std::span<const float> x, std::span<const std::uint32_t> amaxes,
                             ScaleCounts& counts);

/// Rounds view.elements() numbers to the format of `to`, whose tensor scale is taken as it is, and
/// writes what has a place. Element i in C order is number i of its stream of random words. Adds to
/// `counts`.
void quantize_blocks(const BlockQuantizer& to, const BlockView& view, std::span<const float> x,
                     const BlockPlaces& places, BlockCounts& counts);

/// Returns codes and scales, made so.
BlockTensor quantize_blocks(const BlockQuantizer& to, const BlockView& view,
                            std::span<const float> x, BlockCounts& counts);

/// Writes the values of all elements, view.elements() of them: exact, or rounded once to nearest
/// even where floats do not hold them.
void values_of_blocks(const BlockFormat& format, const BlockTensor& x, std::span<float> out);
void values_of_blocks(const BlockFormat& format, const BlockTensor& x, std::span<double> out);

}  // namespace binade
