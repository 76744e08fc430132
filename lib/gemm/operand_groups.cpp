// SPDX-License-Identifier: Apache-2.0
//
// Decodes and packs lines on all threads, a group at a time, and notes their infinities and NaNs on
// the way.
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

constexpr std::uint32_t infinite = 0x7F800000;

/// Returns the range of the magnitudes of all floats in memory from the first operand to the last.
MagnitudeRange range_of(const ValueLines& lines) {
  const auto n = static_cast<std::size_t>(std::ranges::max(lines.starts) +
                                          std::ranges::max(lines.offsets) + 1);
  std::vector<MagnitudeRange> found(thread_count(), {.least = 0x7FFFFFFF, .most = 0});
  const auto add = [](MagnitudeRange& to, std::uint32_t below_least, std::uint32_t most) {
    to.least = std::min(to.least, below_least);
    to.most = std::max(to.most, most);
  };
  parallel_for(n, std::size_t{1} << 16, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    // magnitude - 1 of a zero wraps to the largest number
    std::int32_t below_least = 0x7FFFFFFF, most = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::int32_t magnitude = std::bit_cast<std::int32_t>(lines.values[i]) & 0x7FFFFFFF;
      below_least = std::min(below_least, (magnitude - 1) & 0x7FFFFFFF);
      most = std::max(most, magnitude);
    }
    add(found[slot], static_cast<std::uint32_t>(below_least), static_cast<std::uint32_t>(most));
  });
  MagnitudeRange out = found[0];
  for (const MagnitudeRange& more : found) add(out, more.least, more.most);
  out.least = out.most == 0 ? infinite : out.least + 1;
  return out;
}

/// Returns the offset of each place's operand from the start of its line; -1 stays -1.
std::vector<std::int32_t> offsets_of(const ValueLines& lines,
                                     std::span<const std::int32_t> places) {
  std::vector<std::int32_t> out(places.size());
  std::ranges::transform(places, out.begin(), [&](std::int32_t place) {
    return place < 0 ? place : lines.offsets[static_cast<std::size_t>(place)];
  });
  return out;
}

bool has_special(const ValueLines& lines, std::size_t line) {
  const float* const from = lines.values + lines.starts[line];
  return std::ranges::any_of(lines.offsets,
                             [&](std::int32_t offset) { return binade::is_special(from[offset]); });
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
                           const OperandLines& lines, bool are_columns) {
  const Packing& p = reading.packing;
  const std::size_t k = lines.k;
  const std::size_t height = are_columns ? group_columns : group_rows;
  const std::size_t step = are_columns ? p.column_step : p.row_step;
  const std::size_t groups = (lines.count + height - 1) / height;
  const std::size_t line_bytes = places.size() * (are_columns ? p.column_bytes : p.row_bytes);
  PackedGroups out{.bytes = {},
                   .group_bytes = up_to_step(std::min(lines.count, height), step) * line_bytes,
                   .range = {},
                   .unusable = std::vector<std::uint32_t>(groups),
                   .specials = std::vector<std::vector<PackedGroups::Special>>(groups)};
  out.bytes = std::make_unique_for_overwrite<std::byte[]>(groups * out.group_bytes);
  const bool looks = p.specials != SpecialOperands::kept;
  std::vector<std::int32_t> offsets;
  if (lines.are_values()) {
    if (looks) out.range = range_of(lines.values);
    offsets = offsets_of(lines.values, places);
    places = offsets;
  }
  const Format &f = are_columns ? reading.b : reading.a, &as = are_columns ? p.b : p.a;
  std::vector<std::vector<std::byte>> space(thread_count());
  parallel_for(groups, 1, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    const std::size_t operand_bytes = k * p.operand_bytes;
    if (!lines.are_values()) space[slot].resize(height * operand_bytes);
    for (std::size_t at = begin; at < end; ++at) {
      const std::size_t first = at * height, here = std::min(height, lines.count - first);
      PackedLines packed{.line_bytes = operand_bytes,
                         .count = here,
                         .lines = up_to_step(here, step),
                         .places = places.data(),
                         .length = places.size(),
                         .packing = &p,
                         .are_columns = are_columns};
      if (!lines.are_values()) {
        packed.operands = space[slot].data();
        for (std::size_t i = 0; i < here; ++i) {
          const bool is_usable = reading.kernel->decode(p, f, as, lines.codes + (first + i) * k, k,
                                                        space[slot].data() + i * operand_bytes);
          if (!is_usable) out.unusable[at] |= std::uint32_t{1} << i;
        }
      } else {
        packed.operands = reinterpret_cast<const std::byte*>(lines.values.values);
        packed.starts = lines.values.starts.data() + first;
        for (std::size_t i = 0; i < here && looks && out.range.most >= infinite; ++i) {
          if (has_special(lines.values, first + i)) out.unusable[at] |= std::uint32_t{1} << i;
        }
      }
      if (!looks) out.unusable[at] = 0;
      if (p.specials == SpecialOperands::dropped && out.unusable[at] != 0) {
        for (std::size_t i = 0; i < here * k; ++i) {
          const float value = lines.value(first + i / k, i % k, f);
          if (is_special(value)) out.specials[at].push_back({i / k, i % k, value});
        }
      }
      std::byte* const group = out.bytes.get() + at * out.group_bytes;
      if (packed.lines != here) std::fill_n(group, packed.lines * line_bytes, std::byte{});
      reading.kernel->pack(packed, group);
    }
  });
  return out;
}

TileSpecials tile_specials(const OperandReading& reading, const GroupOf& rows,
                           const GroupOf& columns) {
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
      out.add(i, j, special.value, columns.lines.value(first_column + j, special.k, reading.b));
    }
  }
  for (const auto& special : columns.groups.specials[columns.number]) {
    const std::size_t j = special.line;
    for (std::size_t i = 0; i < height; ++i) {
      if ((out.settled(i) >> j & 1) != 0) continue;
      out.add(i, j, rows.lines.value(first_row + i, special.k, reading.a), special.value);
    }
  }
  return out;
}

}  // namespace binade
