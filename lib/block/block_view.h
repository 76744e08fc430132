// SPDX-License-Identifier: Apache-2.0
//
// Where the blocks of a tensor are: its elements in C order, seen as a stack of matrices of lines,
// and how many lines by how many neighbours share a scale. Blocks of 2 elements along the last and
// along the first axis of a tensor of shape [4, 3]:
//
//     axis 1    a0 a0 a1     lines 4, length 3      axis 0    b0 b1 b2     lines 4, length 3
//               a2 a2 a3     1 line by 2                      b0 b1 b2     2 lines by 1
//               a4 a4 a5     scales [4, 2]                    b3 b4 b5     scales [2, 3]
//               a6 a6 a7                                      b3 b4 b5
//
// The last blocks of a line may be short, as if zeros stood behind them, which change no scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/block.h"

namespace binade {

struct BlockView {
  std::size_t matrices = 1, lines = 1, length = 1;      ///< of the tensor
  std::size_t lines_of_block = 1, length_of_block = 1;  ///< of a block; perhaps more than there are
  std::vector<std::uint64_t> scale_shape = {};          ///< of the tensor of scales, in C order

  friend bool operator==(const BlockView&, const BlockView&) = default;

  /// Return how many blocks are below each other and beside each other in a matrix.
  std::size_t block_lines() const { return (lines + lines_of_block - 1) / lines_of_block; }
  std::size_t blocks_of_line() const { return (length + length_of_block - 1) / length_of_block; }
  /// Returns how many scales there are. A tensor without elements that has one has it, too.
  std::size_t blocks() const {
    std::size_t out = 1;
    for (const std::uint64_t extent : scale_shape) out *= extent;
    return out;
  }
  std::size_t elements() const { return matrices * lines * length; }
  /// Returns how many zeros would fill the short blocks.
  std::size_t padding() const {
    return elements() == 0 ? 0 : blocks() * lines_of_block * length_of_block - elements();
  }
};

/// Returns where the blocks of a format are whose K runs along an axis; a negative one counts from
/// the last. Blocks of more than one row have the axis before the last, or, if that is K, the last
/// one as rows, so that they lie in a matrix each. Throws Error if there is no such axis or, for
/// such blocks, if it is none of the last two.
BlockView block_view(const BlockFormat& format, std::span<const std::uint64_t> shape, int axis);

/// Returns a shape of which all axes but the last are one, as TransformerEngine sees tensors.
std::vector<std::uint64_t> as_rows(std::span<const std::uint64_t> shape);

/// How many tensors, each with its own amax, lie along the first axis of one: of a stack, such as
/// experts, its extent; of a tensor of less than 3 axes 1.
std::size_t tensors_in_stack(std::span<const std::uint64_t> shape);

/// Returns the blocks of each tensor of a stack; `axis` is the stack's, and not its first.
BlockView block_view_of_each(const BlockFormat& format, std::span<const std::uint64_t> shape,
                             int axis);

}  // namespace binade
