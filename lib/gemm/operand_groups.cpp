// SPDX-License-Identifier: Apache-2.0
//
// Lines are taken apart and packed on all threads, a group at a time, and what is special in them is noted on the way.
#include "lib/gemm/operand_groups.h"

#include <algorithm>

namespace binade {
namespace {

std::size_t up_to_step(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

DecodedLines decoded_lines(const OperandReading& reading, const Format& f, const Format& as,
                           std::span<const std::uint64_t> codes, std::size_t k) {
  const std::size_t lines = k == 0 ? 0 : codes.size() / k;
  const std::size_t line_bytes = k * reading.packing.operand_bytes;
  DecodedLines out{std::vector<std::byte>(lines * line_bytes), std::vector<std::uint8_t>(lines)};
  parallel_for(lines, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      std::byte* to = out.operands.data() + i * line_bytes;
      out.usable[i] =
          reading.kernel->decode(reading.packing, f, as, codes.data() + i * k, k, to) ? 1 : 0;
    }
  });
  return out;
}

}  // namespace

OperandReading reading_of(const GemmModel& model, const Kernels& kernels) {
  const ProductKernel& kernel = product_kernel(kernels, model);
  return {&kernel, kernel.packing(model), model.types.a, model.types.b};
}

DecodedOperands decoded(const OperandReading& reading, std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b, std::size_t k) {
  return {decoded_lines(reading, reading.a, reading.packing.a, a, k),
          decoded_lines(reading, reading.b, reading.packing.b, b, k)};
}

PackedGroups packed_groups(const OperandReading& reading, std::span<const std::int32_t> places,
                           const OperandLines& lines, std::size_t k, bool are_columns) {
  const Packing& p = reading.packing;
  const std::size_t height = are_columns ? group_columns : group_rows;
  const std::size_t step = are_columns ? p.column_step : p.row_step;
  const std::size_t groups = (lines.count + height - 1) / height;
  const std::size_t line_bytes = places.size() * (are_columns ? p.column_bytes : p.row_bytes);
  PackedGroups out{{}, up_to_step(std::min(lines.count, height), step) * line_bytes, {}, {}};
  out.bytes.resize(groups * out.group_bytes);
  out.unusable.resize(groups);
  out.specials.resize(groups);
  const Format &f = are_columns ? reading.b : reading.a, &as = are_columns ? p.b : p.a;
  std::vector<std::vector<std::byte>> space(thread_count());
  parallel_for(groups, 1, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    const std::size_t operand_bytes = k * p.operand_bytes;
    space[slot].resize(height * operand_bytes);
    for (std::size_t at = begin; at < end; ++at) {
      const std::size_t first = at * height, here = std::min(height, lines.count - first);
      const std::byte* operands = space[slot].data();
      for (std::size_t i = 0; i < here; ++i) {
        bool is_usable = true;
        if (lines.codes != nullptr) {
          is_usable = reading.kernel->decode(p, f, as, lines.codes + (first + i) * k, k,
                                             space[slot].data() + i * operand_bytes);
        } else {
          const float* const line = lines.values + first * k;
          operands = reinterpret_cast<const std::byte*>(line);
          is_usable = !any_special(line + i * k, k);
        }
        if (!is_usable) out.unusable[at] |= std::uint32_t{1} << i;
      }
      if (p.specials == SpecialOperands::kept) out.unusable[at] = 0;
      if (p.specials == SpecialOperands::dropped && out.unusable[at] != 0) {
        const auto* const values = reinterpret_cast<const float*>(operands);
        for (std::size_t i = 0; i < here * k; ++i) {
          if (is_special(values[i])) out.specials[at].push_back({i / k, i % k, values[i]});
        }
      }
      reading.kernel->pack({.operands = operands,
                            .line_bytes = operand_bytes,
                            .count = here,
                            .lines = up_to_step(here, step),
                            .places = places.data(),
                            .length = places.size(),
                            .packing = &p,
                            .are_columns = are_columns},
                           out.bytes.data() + at * out.group_bytes);
    }
  });
  return out;
}

TileSpecials tile_specials(const OperandReading& reading, const GroupOf& rows,
                           const GroupOf& columns, std::size_t k) {
  TileSpecials out;
  const std::size_t first_row = rows.number * group_rows,
                    first_column = columns.number * group_columns;
  const std::size_t height = std::min(group_rows, rows.lines.count - first_row);
  const std::size_t width = std::min(group_columns, columns.lines.count - first_column);
  const std::uint32_t all = ~std::uint32_t{0} >> (group_columns - width);
  for (const auto& special : rows.groups.specials[rows.number]) {
    const std::size_t i = special.line;
    if (out.settled(i) == all) continue;
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t at = (first_column + j) * k + special.k;
      out.add(i, j, special.value, columns.lines.value(at, reading.b));
    }
  }
  for (const auto& special : columns.groups.specials[columns.number]) {
    const std::size_t j = special.line;
    for (std::size_t i = 0; i < height; ++i) {
      if ((out.settled(i) >> j & 1) != 0) continue;
      const std::size_t at = (first_row + i) * k + special.k;
      out.add(i, j, rows.lines.value(at, reading.a), special.value);
    }
  }
  return out;
}

}  // namespace binade
