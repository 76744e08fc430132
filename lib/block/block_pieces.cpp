// SPDX-License-Identifier: Apache-2.0
//
// Amaxes of parts of one block are put together as integers, of which a NaN's is the largest.
#include "lib/block/block_pieces.h"

#include <algorithm>
#include <atomic>
#include <cassert>

namespace binade {
namespace {

constexpr std::size_t piece_elements = std::size_t{1} << 15, most_elements = 4 * piece_elements;
/// Fewer neighbours than this are slow, since each line is a call of the kernels.
constexpr std::size_t wide = 2048;

/// Lines of whole blocks of one line lie behind each other like one line.
BlockView in_fewer_lines(BlockView view) {
  if (view.lines_of_block == 1 && view.length % view.length_of_block == 0) {
    view.length *= view.matrices * view.lines;
    view.lines = view.matrices = 1;
  }
  return view;
}

std::size_t blocks_between(const BlockView& view, std::size_t begin, std::size_t end) {
  return (end - 1) / view.length_of_block - begin / view.length_of_block + 1;
}

bool is_streamed(const BlockView& view, std::size_t bytes) {
  return view.elements() * bytes >= streamed_bytes;
}

void keep_larger(std::uint32_t& place, std::uint32_t amax) {
  std::atomic_ref<std::uint32_t> shared(place);
  std::uint32_t seen = shared.load(std::memory_order_relaxed);
  while (seen < amax && !shared.compare_exchange_weak(seen, amax, std::memory_order_relaxed)) {
  }
}

/// Returns where a line of the piece behind this one begins, for numbers that come from memory.
const float* next_line(const BlockPieces& pieces, const BlockPiece& piece, const float* x,
                       std::size_t at) {
  const std::size_t length = pieces.view.length, elements = pieces.view.elements();
  const std::size_t next =
      piece.end < length ? at + piece.end - piece.begin : at - piece.begin + piece.lines * length;
  return elements * sizeof *x >= streamed_bytes && next < elements ? x + next : nullptr;
}

/// Calls run(number of the first element, number of elements) for each line of a piece.
template <class Run>
void each_line(const BlockPieces& pieces, const BlockPiece& piece, const Run& run) {
  for (std::size_t line = 0; line < piece.lines; ++line) {
    run((piece.first_line + line) * pieces.view.length + piece.begin, piece.end - piece.begin);
  }
}

void make_amaxes(const Kernels& kernels, const ScaleRule& rule, const BlockPieces& pieces,
                 const BlockPiece& piece, const float* x, BlockWork& work) {
  work.amaxes.assign(piece.blocks, 0);
  each_line(pieces, piece, [&](std::size_t at, std::size_t n) {
    kernels.block_amaxes(rule, x + at, n, pieces.view.length_of_block, work.amaxes.data());
  });
}

/// The numbers of one block, line after line.
std::vector<float> numbers_of_block(const BlockView& view, const float* x, std::size_t block) {
  std::vector<float> out;
  if (view.elements() == 0) return out;
  const std::size_t column = block % view.blocks_of_line() * view.length_of_block;
  const std::size_t row = block / view.blocks_of_line();
  const std::size_t first = row % view.block_lines() * view.lines_of_block;
  const std::size_t matrix = row / view.block_lines();
  const std::size_t end = std::min(column + view.length_of_block, view.length);
  for (std::size_t line = first; line < std::min(first + view.lines_of_block, view.lines); ++line) {
    const float* const from = x + (matrix * view.lines + line) * view.length;
    out.insert(out.end(), from + column, from + end);
  }
  return out;
}

}  // namespace

BlockPieces block_pieces(const BlockView& view) {
  BlockPieces out{.view = in_fewer_lines(view)};
  const BlockView& v = out.view;
  if (v.elements() == 0) return out;
  const std::size_t high = std::min(v.lines_of_block, v.lines);
  const std::size_t width = std::min(v.length_of_block, v.length);
  // Twice, so that a piece begins with an even column.
  const std::size_t least = width % 2 == 0 || width == v.length ? width : 2 * width;
  out.have_blocks = high * least <= most_elements;
  if (out.have_blocks) {
    const std::size_t most = std::max(piece_elements / high, std::min(wide, most_elements / high));
    out.lines = high;
    out.columns = std::max(most / least, std::size_t{1}) * least;
  } else {
    out.columns = width > piece_elements ? piece_elements : piece_elements / width * width;
    out.lines = std::clamp<std::size_t>(piece_elements / out.columns, 1, high);
  }
  out.parts = (high + out.lines - 1) / out.lines;
  // Pieces that are parts of blocks do not go on into the next block.
  const std::size_t step = out.columns < width ? width : v.length;
  out.across = v.length / step * ((step + out.columns - 1) / out.columns) +
               (v.length % step + out.columns - 1) / out.columns;
  out.count = v.matrices * v.block_lines() * out.parts * out.across;
  return out;
}

BlockPiece piece_of(const BlockPieces& pieces, std::size_t number) {
  const BlockView& v = pieces.view;
  const std::size_t rows = v.block_lines();
  const std::size_t step = pieces.columns < v.length_of_block ? v.length_of_block : v.length;
  const std::size_t in_step = (step + pieces.columns - 1) / pieces.columns;
  const std::size_t across = number % pieces.across;
  const std::size_t part = number / pieces.across % pieces.parts;
  const std::size_t row = number / pieces.across / pieces.parts % rows;
  const std::size_t matrix = number / pieces.across / pieces.parts / rows;
  BlockPiece out{};
  out.begin = across / in_step * step + across % in_step * pieces.columns;
  out.end = std::min({out.begin + pieces.columns, (across / in_step + 1) * step, v.length});
  const std::size_t line = row * v.lines_of_block + part * pieces.lines;
  const std::size_t last = std::min({line + pieces.lines, (row + 1) * v.lines_of_block, v.lines});
  out.first_line = matrix * v.lines + line;
  out.lines = line < last ? last - line : 0;
  out.block = (matrix * rows + row) * v.blocks_of_line() + out.begin / v.length_of_block;
  out.blocks = blocks_between(v, out.begin, out.end);
  return out;
}

bool can_pack(const BlockPieces& pieces) {
  const std::size_t width = pieces.view.length_of_block;
  return pieces.view.length % 2 == 0 && (pieces.have_blocks || width % 2 == 0 || width == 1);
}

void take_amaxes(const Kernels& kernels, const ScaleRule& rule, const BlockPieces& pieces,
                 const BlockPiece& piece, const float* x, std::uint32_t* amaxes, BlockWork& work) {
  make_amaxes(kernels, rule, pieces, piece, x, work);
  for (std::size_t i = 0; i < piece.blocks; ++i) {
    keep_larger(amaxes[piece.block + i], work.amaxes[i]);
  }
}

void make_scales(const Kernels& kernels, const BlockQuantizer& to, const BlockView& view,
                 const float* x, const std::uint32_t* amaxes, std::size_t block, std::size_t n,
                 std::uint32_t* scales, std::uint32_t* factors, ScaleCounts& counts) {
  if (to.rule.four_or_six == FourOrSix::six) {
    return kernels.block_scales(to, amaxes, n, scales, factors, counts);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::vector<float> numbers = numbers_of_block(view, x, block + i);
    const BlockScale scale = kernels.chosen_scale(to, numbers.data(), numbers.size(), amaxes[i]);
    count_scale(to, amaxes[i], scale, counts);
    scales[i] = scale.code;
    factors[i] = scale.factor;
  }
}

void quantize_piece(const Kernels& kernels, const BlockQuantizer& to, const BlockPieces& pieces,
                    const BlockPiece& piece, const float* x, const std::uint32_t* scales,
                    const std::uint32_t* factors, const BlockPlaces& places, BlockWork& work,
                    EventCounts& counts) {
  const std::size_t bytes = code_bytes(to.format.element), width = pieces.view.length_of_block;
  const bool needs_codes = places.codes != nullptr || places.packed != nullptr;
  assert(places.packed == nullptr || can_pack(pieces));
  const std::size_t n = piece.end - piece.begin, length = pieces.view.length;
  const std::size_t at = piece.first_line * length + piece.begin;
  const bool streamed = is_streamed(pieces.view, sizeof(float));
  Access access{streamed, next_line(pieces, piece, x, at), piece.lines, length, length};
  if (!needs_codes) {
    return kernels.block_quantize(to, x + at, n, width, factors, scales, at, access,
                                  places.values + at, counts);
  }
  const bool apart = places.codes == nullptr;
  if (apart) work.codes.resize(n * piece.lines * bytes);
  std::byte* const codes = apart ? work.codes.data() : places.codes + at * bytes;
  if (apart) access.stride_out = n;
  access.streamed = streamed && !apart && places.packed == nullptr && places.values == nullptr;
  kernels.block_codes(to, x + at, n, width, factors, at, access, codes, counts);
  each_line(pieces, piece, [&](std::size_t from, std::size_t) {
    const std::byte* const of_line = codes + (from - at) / length * access.stride_out * bytes;
    if (places.packed != nullptr) {
      kernels.pack_4(of_line, n, places.packed + from / 2, NibbleOrder::low_first);
    }
    if (places.values != nullptr) {
      kernels.block_values_f32(to.format, of_line, n, width, scales, to.tensor.decode, streamed,
                               places.values + from);
    }
  });
}

void quantize_whole_piece(const Kernels& kernels, const BlockQuantizer& to,
                          const BlockPieces& pieces, const BlockPiece& piece, const float* x,
                          const BlockPlaces& places, BlockWork& work, BlockCounts& counts) {
  make_amaxes(kernels, to.rule, pieces, piece, x, work);
  work.scales.resize(piece.blocks);
  work.factors.resize(piece.blocks);
  make_scales(kernels, to, pieces.view, x, work.amaxes.data(), piece.block, piece.blocks,
              work.scales.data(), work.factors.data(), counts.scales);
  if (places.scales != nullptr) std::ranges::copy(work.scales, places.scales + piece.block);
  quantize_piece(kernels, to, pieces, piece, x, work.scales.data(), work.factors.data(), places,
                 work, counts.elements);
}

template <class T>
void write_piece_values(const Kernels& kernels, const BlockFormat& format,
                        const BlockPieces& pieces, const BlockPiece& piece, const std::byte* codes,
                        const std::uint32_t* scales, std::uint32_t tensor_decode, T* out) {
  const std::size_t bytes = code_bytes(format.element);
  const bool streamed = is_streamed(pieces.view, sizeof(T));
  each_line(pieces, piece, [&](std::size_t at, std::size_t n) {
    (kernels.*KernelsOf<T>::block_values)(format, codes + at * bytes, n,
                                          pieces.view.length_of_block, scales + piece.block,
                                          tensor_decode, streamed, out + at);
  });
}
template void write_piece_values(const Kernels&, const BlockFormat&, const BlockPieces&,
                                 const BlockPiece&, const std::byte*, const std::uint32_t*,
                                 std::uint32_t, float*);
template void write_piece_values(const Kernels&, const BlockFormat&, const BlockPieces&,
                                 const BlockPiece&, const std::byte*, const std::uint32_t*,
                                 std::uint32_t, double*);

}  // namespace binade
