// SPDX-License-Identifier: Apache-2.0
//
// A single dot product is a kernel's tile of one row and one column.
#include "lib/device/dot_products.h"

#include <array>

namespace binade {
namespace {

/// The scales of one row and one column as a kernel's tile takes them.
struct OneTileScales {
  explicit OneTileScales(const RowOperands& x) : has(x.has_scales) {
    for (std::size_t i = 0; has && i < most_scales_of_row; ++i) {
      of_rows[i * tile_rows] = x.a_scales[i];
      of_columns[i * tile_columns] = x.b_scales[i];
    }
  }
  TileScales scales() const {
    return has ? TileScales{of_rows.data(), of_columns.data()} : TileScales{};
  }

  bool has;
  std::array<std::uint32_t, most_scales_of_row * tile_rows> of_rows{};
  std::array<std::uint32_t, most_scales_of_row * tile_columns> of_columns{};
};

}  // namespace

DotProducts::DotProducts(const Instruction& x, const Dots& rows)
    : instruction_(x),
      rows_(rows),
      how_{.model = x.model, .types = x.types, .k = x.k},
      kernel_(&product_kernel(kernels_for_elements(), how_)),
      packing_(kernel_->packing(how_)),
      a_(taken_apart(rows.a, false)),
      b_(taken_apart(rows.b, true)) {}

DotProducts::Side DotProducts::taken_apart(std::span<const std::uint64_t> codes,
                                           bool is_column) const {
  const auto k = static_cast<std::size_t>(how_.k);
  std::vector<std::int32_t> places(k);
  for (std::size_t i = 0; i < k; ++i) places[i] = kernel_->place(how_, static_cast<int>(i));
  const Format& format = is_column ? how_.types.b : how_.types.a;
  const Format& as = is_column ? packing_.b : packing_.a;
  const std::size_t rows = codes.size() / k;
  const std::size_t step = is_column ? packing_.column_step : packing_.row_step;
  const std::size_t row_bytes = k * step * (is_column ? packing_.column_bytes : packing_.row_bytes);
  Side out{std::vector<std::byte>(rows * row_bytes), std::vector<std::uint8_t>(rows), row_bytes};
  parallel_for(rows, 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<std::byte> operands(k * packing_.operand_bytes);
    const PackedLines line{.operands = operands.data(),
                           .count = 1,
                           .lines = step,
                           .places = places.data(),
                           .length = k,
                           .packing = &packing_,
                           .are_columns = is_column};
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t* row = codes.data() + i * k;
      out.usable[i] = kernel_->decode(packing_, format, as, row, k, operands.data()) ? 1 : 0;
      kernel_->pack(line, out.packed.data() + i * row_bytes);
    }
  });
  return out;
}

std::uint64_t DotProducts::operator()(std::size_t i, std::size_t j, std::size_t l) const {
  const RowOperands operands = operands_of_rows(rows_, i, j, l);
  if (a_.usable[i] != 0 && b_.usable[j] != 0) {
    const OneTileScales scales(operands);
    const ProductTile tile{.rows = a_.packed.data() + i * a_.row_bytes,
                           .columns = b_.packed.data() + j * b_.row_bytes,
                           .length = static_cast<std::size_t>(how_.k),
                           .instructions = 1,
                           .row_count = 1,
                           .column_count = 1,
                           .scales = scales.scales()};
    TileSums sums;
    sums[0][0] = operands.c;
    TileMask left{};
    kernel_->run(how_, tile, sums, left);
    if (left[0] == 0) return sums[0][0];
  }
  return dot_of_row(instruction_, operands);
}

std::vector<std::uint64_t> dots_of(const Instruction& x, const Dots& rows) {
  const DotProducts dots(x, rows);
  std::vector<std::uint64_t> out(rows.c.size());
  parallel_for(out.size(), 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) out[i] = dots(i, i, i);
  });
  return out;
}

}  // namespace binade
