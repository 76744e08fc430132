// SPDX-License-Identifier: Apache-2.0
//
// Pieces of whole blocks are done in one pass. Where blocks are larger than a piece, all amaxes are
// found first, then all scales.
#include "lib/block/block_tensor.h"

#include <algorithm>
#include <cassert>

#include "lib/block/block_pieces.h"
#include "lib/parallel/parallel.h"
#include "lib/range/quantize_stream.h"

namespace binade {
namespace {

/// Calls run(piece, slot) for all pieces of a tensor on all threads.
template <class Run>
void for_each_piece(const BlockPieces& pieces, const Run& run) {
  if (pieces.count == 0) return;
  constexpr std::size_t worth_a_thread = std::size_t{1} << 15;
  const std::size_t size = pieces.lines * pieces.columns;
  parallel_for(pieces.count, std::max<std::size_t>(worth_a_thread / size, 1),
               [&](std::size_t begin, std::size_t end, std::size_t slot) {
                 for (std::size_t at = begin; at < end; ++at) {
                   const BlockPiece piece = piece_of(pieces, at);
                   if (piece.lines > 0) run(piece, slot);
                 }
               });
}

template <std::floating_point T>
void write_values(const BlockFormat& format, const BlockTensor& x, std::span<T> out) {
  assert(out.size() == x.view.elements());
  const BlockPieces pieces = block_pieces(x.view);
  for_each_piece(pieces, [&](const BlockPiece& piece, std::size_t) {
    write_piece_values(fastest_kernels(), format, pieces, piece, x.codes.data(), x.scales.data(),
                       x.tensor.decode, out.data());
  });
}

}  // namespace

void to_binary32(const Format& from, std::span<const std::byte> in, std::span<float> out) {
  const std::span<std::byte> bytes = std::as_writable_bytes(out);
  if (fits_in(from, binary32)) {
    decode_elements(from, in, ResultKind::f32, bytes);
  } else {
    quantize_elements({.format = binary32}, from, ResultKind::f32, in, 0, bytes);
  }
}

std::vector<std::uint32_t> amaxes_of_blocks(const ScaleRule& rule, const BlockView& view,
                                            std::span<const float> x) {
  const BlockPieces pieces = block_pieces(view);
  std::vector<std::uint32_t> out(view.blocks());
  std::vector<BlockWork> work(thread_count());
  for_each_piece(pieces, [&](const BlockPiece& piece, std::size_t slot) {
    take_amaxes(fastest_kernels(), rule, pieces, piece, x.data(), out.data(), work[slot]);
  });
  return out;
}

BlockScales scales_of_blocks(const BlockQuantizer& to, const BlockView& view,
                             std::span<const float> x, std::span<const std::uint32_t> amaxes,
                             ScaleCounts& counts) {
  const std::size_t blocks = view.blocks();
  BlockScales out{std::vector<std::uint32_t>(blocks), std::vector<std::uint32_t>(blocks)};
  std::vector<ScaleCounts> each(thread_count());
  parallel_for(blocks, 1024, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    make_scales(fastest_kernels(), to, view, x.data(), &amaxes[begin], begin, end - begin,
                &out.codes[begin], &out.factors[begin], each[slot]);
  });
  for (const ScaleCounts& some : each) counts += some;
  return out;
}

std::uint32_t amax_of(const ScaleRule& rule, std::span<const float> x) {
  if (x.empty()) return 0;
  return amaxes_of_blocks(rule, {.length = x.size(), .length_of_block = x.size()}, x)[0];
}

void quantize_blocks(const BlockQuantizer& to, const BlockView& view, std::span<const float> x,
                     const BlockPlaces& places, BlockCounts& counts) {
  assert(x.size() == view.elements());
  const Kernels& kernels = fastest_kernels();
  const BlockPieces pieces = block_pieces(view);
  std::vector<BlockCounts> each(thread_count());
  std::vector<BlockWork> work(thread_count());
  if (pieces.have_blocks) {
    for_each_piece(pieces, [&](const BlockPiece& piece, std::size_t slot) {
      quantize_whole_piece(kernels, to, pieces, piece, x.data(), places, work[slot], each[slot]);
    });
  } else {
    const std::vector<std::uint32_t> amaxes = amaxes_of_blocks(to.rule, view, x);
    const BlockScales scales = scales_of_blocks(to, view, x, amaxes, counts.scales);
    for_each_piece(pieces, [&](const BlockPiece& piece, std::size_t slot) {
      quantize_piece(kernels, to, pieces, piece, x.data(), &scales.codes[piece.block],
                     &scales.factors[piece.block], places, work[slot], each[slot].elements);
    });
    if (places.scales != nullptr) std::ranges::copy(scales.codes, places.scales);
  }
  for (const BlockCounts& some : each) counts += some;
  counts.padding += view.padding();
}

BlockTensor quantize_blocks(const BlockQuantizer& to, const BlockView& view,
                            std::span<const float> x, BlockCounts& counts) {
  BlockTensor out{.view = view,
                  .codes = std::vector<std::byte>(x.size() * code_bytes(to.format.element)),
                  .scales = std::vector<std::uint32_t>(view.blocks()),
                  .tensor = to.tensor};
  quantize_blocks(to, view, x, {.codes = out.codes.data(), .scales = out.scales.data()}, counts);
  return out;
}

void values_of_blocks(const BlockFormat& format, const BlockTensor& x, std::span<float> out) {
  write_values(format, x, out);
}
void values_of_blocks(const BlockFormat& format, const BlockTensor& x, std::span<double> out) {
  write_values(format, x, out);
}

}  // namespace binade
