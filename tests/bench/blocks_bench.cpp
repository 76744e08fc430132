// SPDX-License-Identifier: Apache-2.0
//
// Rows of tensors to block formats, values or codes, with all counts: amaxes, scales and elements
// in one pass by pieces, and before that the amax of the tensor where it has a scale. The limit
// reads the numbers as often and writes as many bytes of values or codes; those of the scales are
// left out.
#include <string>

#include "emulate/scale_rules.h"
#include "lib/block/block_pieces.h"
#include "tests/bench/arrays.h"
#include "tests/bench/rows.h"

namespace binade::bench {
namespace {

enum class Kept : std::uint8_t { values, codes };

/// A block format, and whether blocks lie along lines or down columns of a matrix.
struct BlockRow {
  const char* name;
  const char* format;
  std::size_t column = 0;  ///< length of lines where blocks are columns; 0: they are not
};

std::size_t bits_of(const BlockFormat& format, Kept kept) {
  return kept == Kept::values ? 32 : static_cast<std::size_t>(format.element.bits());
}

Limit limit_of(const BlockFormat& format, Kept kept) {
  const std::size_t bits = bits_of(format, kept), together = bits < 8 ? 2 : 1;
  return {.traffic = {format.tensor_scale ? std::size_t{2} : 1, together * sizeof(float),
                      together * bits / 8},
          .elements = together};
}

void quantize_run(const Kernels& kernels, BlockQuantizer to, std::size_t column, const float* in,
                  std::size_t n, Kept kept, std::byte* out) {
  BlockView view{.length = n, .length_of_block = static_cast<std::size_t>(to.format.shape.along)};
  if (column > 0) {
    view = {.lines = n / column,
            .length = column,
            .lines_of_block = static_cast<std::size_t>(to.format.shape.along)};
  }
  if (to.format.tensor_scale) {
    std::uint32_t amax = 0;
    kernels.block_amaxes(to.rule, in, n, n, &amax);
    to.tensor = tensor_scale(to.rule, to.format, amax);
  }
  BlockPlaces places;
  if (kept == Kept::values) {
    places.values = reinterpret_cast<float*>(out);
  } else {
    (to.format.element.bits() == 4 ? places.packed : places.codes) = out;
  }
  const BlockPieces pieces = block_pieces(view);
  BlockWork work;
  BlockCounts counts;
  for (std::size_t i = 0; i < pieces.count; ++i) {
    quantize_whole_piece(kernels, to, pieces, piece_of(pieces, i), in, places, work, counts);
  }
}

void add_blocks(std::size_t n, const BlockRow& row, Kept kept) {
  const BlockFormat format = *find_block_format(row.format);
  const BlockQuantizer to{.format = format, .rule = find_scale_rule("", format)->rule};
  const std::size_t bits = bits_of(format, kept);
  const Work work{
      .name = std::string(kept == Kept::values ? "block_values/" : "block_codes/") + row.name,
      .n = n,
      .limit = limit_of(format, kept),
      .arrays =
          [n] {
            return Arrays{{reinterpret_cast<const std::byte*>(input()),
                           reinterpret_cast<const std::byte*>(input() + n)},
                          output()};
          },
      .run =
          [=](const Kernels& kernels, const Arrays& arrays, std::size_t begin, std::size_t end) {
            quantize_run(kernels, to, row.column,
                         reinterpret_cast<const float*>(arrays.in[0]) + begin, end - begin, kept,
                         arrays.out + begin * bits / 8);
          }};
  add_rows(work, levels_of(&Kernels::block_codes));
  if (n > in_l2 && row.column == 0) add_thread_rows(work, levels_of(&Kernels::block_codes));
}

}  // namespace

void add_block_formats() {
  for (const std::size_t n : {in_l2, several_from_dram}) {
    const std::size_t column = n == in_l2 ? 512 : 4096;
    for (const BlockRow& row : {BlockRow{"mxfp8_e4m3", "mxfp8_e4m3"},
                                BlockRow{"mxfp8_e4m3_columns", "mxfp8_e4m3", column},
                                BlockRow{"nvfp4", "nvfp4"}, BlockRow{"fp8_1x128", "fp8_1x128"}}) {
      for (const Kept kept : {Kept::values, Kept::codes}) add_blocks(n, row, kept);
    }
  }
}

}  // namespace binade::bench
