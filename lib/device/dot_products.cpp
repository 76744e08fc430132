// SPDX-License-Identifier: Apache-2.0
//
// A single dot product is a kernel's tile of one row and one column.
#include "lib/device/dot_products.h"

namespace binade {
DotProducts::DotProducts(const DotModel& model, const DotTypes& types, int k,
                         std::span<const std::uint64_t> a, std::span<const std::uint64_t> b)
    : how_{.model = model, .types = types, .k = k},
      kernel_(&product_kernel(kernels_for_elements(), how_)),
      packing_(kernel_->packing(how_)),
      a_(taken_apart(a, false)),
      b_(taken_apart(b, true)) {}

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
  Side out{codes, std::vector<std::byte>(rows * row_bytes), std::vector<std::uint8_t>(rows),
           row_bytes};
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

std::uint64_t DotProducts::operator()(std::size_t i, std::size_t j, std::uint64_t c) const {
  const auto k = static_cast<std::size_t>(how_.k);
  if (a_.usable[i] != 0 && b_.usable[j] != 0) {
    const ProductTile tile{.rows = a_.packed.data() + i * a_.row_bytes,
                           .columns = b_.packed.data() + j * b_.row_bytes,
                           .length = k,
                           .instructions = 1,
                           .row_count = 1,
                           .column_count = 1};
    TileSums sums;
    sums[0][0] = c;
    TileMask left{};
    kernel_->run(how_, tile, sums, left);
    if (left[0] == 0) return sums[0][0];
  }
  return dot(how_.model, how_.types, a_.codes.data() + i * k, b_.codes.data() + j * k, how_.k, c);
}

std::vector<std::uint64_t> dots_of(const DotModel& model, const DotTypes& types, int k,
                                   const Dots& rows) {
  const DotProducts dots(model, types, k, rows.a, rows.b);
  std::vector<std::uint64_t> out(rows.c.size());
  parallel_for(out.size(), 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) out[i] = dots(i, i, rows.c[i]);
  });
  return out;
}

}  // namespace binade
