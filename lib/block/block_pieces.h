// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a tensor that are quantized one after the other while they are in a cache. A piece
// has whole blocks, a row of blocks high, or is a part of one block that is larger than a piece:
//
//     a row of blocks        b0 b0 b0 b0 | b1 b1 b1 b1 | b2 …        a piece: columns of b0 and b1,
//     of two lines           b0 b0 b0 b0 | b1 b1 b1 b1 | b2 …        lines 0 and 1
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulate/block_arrays.h"
#include "emulate/fast/kernels.h"
#include "lib/block/block_counts.h"
#include "lib/block/block_view.h"

namespace binade {

/// Lines and columns of one row of blocks.
struct BlockPiece {
  std::size_t first_line, lines;  ///< of the tensor, all matrices' lines behind each other
  std::size_t begin, end;         ///< columns
  std::size_t block;              ///< the number of the block at its begin
  std::size_t blocks;             ///< of which it has numbers
};

struct BlockPieces {
  BlockView view;            ///< the same blocks in the same order, perhaps in fewer lines
  bool have_blocks = false;  ///< blocks are whole
  std::size_t lines = 1, columns = 1;  ///< of a piece, or fewer
  std::size_t parts = 1;               ///< pieces above each other in a row of blocks
  std::size_t across = 0;              ///< pieces beside each other
  std::size_t count = 0;
};

BlockPieces block_pieces(const BlockView& view);

/// Returns a piece, which has no lines where the last row of blocks has fewer.
BlockPiece piece_of(const BlockPieces& pieces, std::size_t number);

/// Where the results of a tensor go, whole arrays; what is null is not kept.
struct BlockPlaces {
  std::byte* codes = nullptr;   ///< of code_bytes(element format) bytes each
  std::byte* packed = nullptr;  ///< two codes of 4 bits to a byte, the first in the low half
  std::uint32_t* scales = nullptr;
  float* values = nullptr;  ///< perhaps the numbers' own place
};

/// Returns whether no line and no piece ends within a byte of `packed`.
bool can_pack(const BlockPieces& pieces);

/// What quantize_piece works in: one for each thread.
struct BlockWork {
  std::vector<std::uint32_t> amaxes, scales, factors;
  std::vector<std::byte> codes;
};

/// Takes a piece's numbers into amaxes of all blocks of the tensor, which other threads' pieces
/// change meanwhile.
void take_amaxes(const Kernels& kernels, const ScaleRule& rule, const BlockPieces& pieces,
                 const BlockPiece& piece, const float* x, std::uint32_t* amaxes, BlockWork& work);

/// Writes the scales of n blocks from number `block` on, and what their numbers are multiplied by,
/// or divided by.
void make_scales(const Kernels& kernels, const BlockQuantizer& to, const BlockView& view,
                 const float* x, const std::uint32_t* amaxes, std::size_t block, std::size_t n,
                 std::uint32_t* scales, std::uint32_t* factors, ScaleCounts& counts);

/// Quantizes a piece of a tensor x under these scales and factors of its blocks.
void quantize_piece(const Kernels& kernels, const BlockQuantizer& to, const BlockPieces& pieces,
                    const BlockPiece& piece, const float* x, const std::uint32_t* scales,
                    const std::uint32_t* factors, const BlockPlaces& places, BlockWork& work,
                    EventCounts& counts);

/// Does all that for a piece of whole blocks.
void quantize_whole_piece(const Kernels& kernels, const BlockQuantizer& to,
                          const BlockPieces& pieces, const BlockPiece& piece, const float* x,
                          const BlockPlaces& places, BlockWork& work, BlockCounts& counts);

/// Writes the values of a piece.
template <class T>
void write_piece_values(const Kernels& kernels, const BlockFormat& format,
                        const BlockPieces& pieces, const BlockPiece& piece, const std::byte* codes,
                        const std::uint32_t* scales, std::uint32_t tensor_decode, T* out);

}  // namespace binade
