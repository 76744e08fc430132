// SPDX-License-Identifier: Apache-2.0
//
// A tensor is cut into pieces, each a few lines by a few whole blocks of one row of blocks, or by a
// part of one block:
//
//     a row of blocks        b0 b0 b0 b0 | b1 b1 b1 b1 | b2 …        a piece: columns of b0 and b1,
//     of two lines           b0 b0 b0 b0 | b1 b1 b1 b1 | b2 …        lines 0 and 1
//
// The amaxes of pieces of one block are put together as integers, of which a NaN's is the largest.
#include "lib/block/block_tensor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <mutex>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t piece_elements = std::size_t{1} << 15;

/// Lines and columns of one row of blocks, within one block where they do not begin and end with
/// blocks.
struct Piece {
  std::size_t first_line, lines;  ///< of the tensor, all matrices' lines behind each other
  std::size_t begin, end;         ///< columns
  std::size_t block;              ///< the number of the block at its begin
};

/// Columns [begin, end), and the block of the first one.
struct Columns {
  std::size_t begin, end, block;
};

/// Cuts a line, at the ends of blocks or within blocks that are larger than a piece.
std::vector<Columns> columns_of(const BlockView& view) {
  std::vector<Columns> out;
  const std::size_t width = view.length_of_block;
  const std::size_t step =
      width >= piece_elements ? piece_elements : piece_elements / width * width;
  for (std::size_t begin = 0; begin < view.length;) {
    const std::size_t block = begin / width;
    const std::size_t most = width >= piece_elements ? (block + 1) * width : view.length;
    const std::size_t end = std::min({begin + step, most, view.length});
    out.push_back({begin, end, block});
    begin = end;
  }
  return out;
}

/// Calls run(piece, slot) for all pieces of a tensor on all threads.
template <class Run>
void for_each_piece(const BlockView& view, const Run& run) {
  const std::vector<Columns> columns = columns_of(view);
  if (columns.empty() || view.lines == 0) return;
  const std::size_t widest = columns[0].end - columns[0].begin;
  const std::size_t most_lines = std::max<std::size_t>(piece_elements / widest, 1);
  const std::size_t lines_of_row = std::min(view.lines_of_block, view.lines);
  const std::size_t lines = std::min(most_lines, lines_of_row);
  const std::size_t parts = (lines_of_row + lines - 1) / lines;
  const std::size_t rows = view.block_lines();
  const std::size_t pieces = view.matrices * rows * parts * columns.size();
  parallel_for(pieces, std::max<std::size_t>(piece_elements / (widest * lines), 1),
               [&](std::size_t begin, std::size_t end, std::size_t slot) {
                 for (std::size_t at = begin; at < end; ++at) {
                   const Columns& c = columns[at % columns.size()];
                   const std::size_t part = at / columns.size() % parts;
                   const std::size_t row = at / columns.size() / parts % rows;
                   const std::size_t matrix = at / columns.size() / parts / rows;
                   const std::size_t line = row * view.lines_of_block + part * lines;
                   const std::size_t last =
                       std::min({line + lines, (row + 1) * view.lines_of_block, view.lines});
                   if (line >= last) continue;
                   run(Piece{matrix * view.lines + line, last - line, c.begin, c.end,
                             (matrix * rows + row) * view.blocks_of_line() + c.block},
                       slot);
                 }
               });
}

std::size_t blocks_of(const BlockView& view, const Piece& piece) {
  return (piece.end - 1) / view.length_of_block - piece.begin / view.length_of_block + 1;
}

void keep_larger(std::uint32_t& place, std::uint32_t amax) {
  std::atomic_ref<std::uint32_t> shared(place);
  std::uint32_t seen = shared.load(std::memory_order_relaxed);
  while (seen < amax && !shared.compare_exchange_weak(seen, amax, std::memory_order_relaxed)) {
  }
}

std::vector<std::uint32_t> amaxes_of(const ScaleRule& rule, const BlockView& view,
                                     std::span<const float> x) {
  std::vector<std::uint32_t> out(view.blocks());
  std::vector<std::vector<std::uint32_t>> kept(thread_count());
  for_each_piece(view, [&](const Piece& piece, std::size_t slot) {
    std::vector<std::uint32_t>& mine = kept[slot];
    mine.assign(blocks_of(view, piece), 0);
    for (std::size_t line = 0; line < piece.lines; ++line) {
      block_amaxes(rule, x.data() + (piece.first_line + line) * view.length + piece.begin,
                   piece.end - piece.begin, view.length_of_block, mine.data());
    }
    for (std::size_t i = 0; i < mine.size(); ++i) keep_larger(out[piece.block + i], mine[i]);
  });
  return out;
}

/// The numbers of one block, line after line.
std::vector<float> numbers_of_block(const BlockView& view, std::span<const float> x,
                                    std::size_t block) {
  if (view.elements() == 0) return {};
  const std::size_t column = block % view.blocks_of_line() * view.length_of_block;
  const std::size_t row = block / view.blocks_of_line();
  const std::size_t first = row % view.block_lines() * view.lines_of_block;
  const std::size_t matrix = row / view.block_lines();
  std::vector<float> out;
  for (std::size_t line = first; line < std::min(first + view.lines_of_block, view.lines); ++line) {
    const std::size_t at = (matrix * view.lines + line) * view.length;
    const std::size_t end = std::min(column + view.length_of_block, view.length);
    out.insert(out.end(), x.begin() + static_cast<std::ptrdiff_t>(at + column),
               x.begin() + static_cast<std::ptrdiff_t>(at + end));
  }
  return out;
}

/// Writes the scales of blocks [begin, end), by their errors where the rule asks for it.
void make_scales(const BlockQuantizer& to, const BlockView& view, std::span<const float> x,
                 std::span<const std::uint32_t> amaxes, std::size_t begin, std::size_t end,
                 std::span<std::uint32_t> scales, std::span<std::uint32_t> factors,
                 ScaleCounts& counts) {
  if (to.rule.four_or_six == FourOrSix::six) {
    return block_scales(to, amaxes.data() + begin, end - begin, scales.data() + begin,
                        factors.data() + begin, counts);
  }
  for (std::size_t i = begin; i < end; ++i) {
    const std::vector<float> numbers = numbers_of_block(view, x, i);
    std::vector<std::uint32_t> bits(numbers.size());
    std::ranges::transform(numbers, bits.begin(),
                           [](float y) { return std::bit_cast<std::uint32_t>(y); });
    const BlockScale scale =
        chosen_scale(to.rule, to.format, bits.data(), bits.size(), amaxes[i], to.tensor);
    count_scale(to, amaxes[i], scale, counts);
    scales[i] = scale.code;
    factors[i] = scale.factor;
  }
}

template <std::floating_point T>
void write_values(const BlockFormat& format, const BlockTensor& x, std::span<T> out) {
  assert(out.size() == x.view.elements());
  const std::size_t bytes = code_bytes(format.element);
  for_each_piece(x.view, [&](const Piece& piece, std::size_t) {
    for (std::size_t line = 0; line < piece.lines; ++line) {
      const std::size_t at = (piece.first_line + line) * x.view.length + piece.begin;
      block_values(format, x.codes.data() + at * bytes, piece.end - piece.begin,
                   x.view.length_of_block, x.scales.data() + piece.block, x.tensor.decode,
                   out.data() + at);
    }
  });
}

}  // namespace

std::uint32_t amax_of(const ScaleRule& rule, std::span<const float> x) {
  if (x.empty()) return 0;
  return amaxes_of(rule, {.length = x.size(), .length_of_block = x.size()}, x)[0];
}

BlockTensor quantize_blocks(const BlockQuantizer& to, const BlockView& view,
                            std::span<const float> x, BlockCounts& counts) {
  assert(x.size() == view.elements());
  const std::vector<std::uint32_t> amaxes = amaxes_of(to.rule, view, x);
  const std::size_t bytes = code_bytes(to.format.element);
  BlockTensor out{.view = view,
                  .codes = std::vector<std::byte>(x.size() * bytes),
                  .scales = std::vector<std::uint32_t>(amaxes.size()),
                  .tensor = to.tensor};
  std::vector<std::uint32_t> factors(amaxes.size());
  std::vector<BlockCounts> each(thread_count());
  parallel_for(amaxes.size(), 1024, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    make_scales(to, view, x, amaxes, begin, end, out.scales, factors, each[slot].scales);
  });
  for_each_piece(view, [&](const Piece& piece, std::size_t slot) {
    for (std::size_t line = 0; line < piece.lines; ++line) {
      const std::size_t at = (piece.first_line + line) * view.length + piece.begin;
      block_codes(to, x.data() + at, piece.end - piece.begin, view.length_of_block,
                  factors.data() + piece.block, at, out.codes.data() + at * bytes,
                  each[slot].elements);
    }
  });
  for (const BlockCounts& some : each) counts += some;
  counts.padding += view.padding();
  return out;
}

void values_of_blocks(const BlockFormat& format, const BlockTensor& x, std::span<float> out) {
  write_values(format, x, out);
}
void values_of_blocks(const BlockFormat& format, const BlockTensor& x, std::span<double> out) {
  write_values(format, x, out);
}

}  // namespace binade
