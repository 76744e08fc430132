// SPDX-License-Identifier: Apache-2.0
//
// Everything that sizes allow is a reading: what was meant is for the bits to decide.
#include "lib/scales/scale_reading.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "emulate/carrier.h"
#include "emulate/project.h"
#include "lib/block/block_file.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Formats that stacks have besides the rows of the table: DeepGEMM's powers of two, torchao's
/// NVFP4 of one level, and FP8 of gradients and of AMD.
constexpr std::array<std::string_view, 9> formats_beside{
    "e4m3:block=1x128:scale=e8m0",         "e4m3:block=128x128:scale=e8m0",
    "e2m1:block=1x16:scale=ue4m3",         "e5m2:block=1x128:scale=binary32",
    "e5m2:block=row:scale=binary32",       "e5m2:block=tensor:scale=binary32",
    "e4m3fnuz:block=1x128:scale=binary32", "e4m3fnuz:block=row:scale=binary32",
    "e4m3fnuz:block=tensor:scale=binary32"};

std::vector<NamedOrCustomBlock> formats_to_read() {
  std::vector<NamedOrCustomBlock> out;
  for (const NamedBlockFormat& row : block_formats)
    out.push_back({std::string(row.name), row.format});
  for (const std::string_view spec : formats_beside) out.push_back(parse_block_format(spec));
  // Codes that a narrower format has are no chance, since those of a wider one use all their bits.
  std::ranges::stable_sort(out, {},
                           [](const NamedOrCustomBlock& x) { return x.format.element.bits(); });
  return out;
}

/// The size of blocks of which an axis has so many: a power of two, or one that divides the axis.
std::uint64_t size_of_blocks(std::uint64_t extent, std::uint64_t blocks) {
  if (blocks == 0 || blocks > extent) return 0;
  const std::uint64_t least = (extent + blocks - 1) / blocks, power = std::bit_ceil(least);
  if ((extent + power - 1) / power == blocks) return power;
  return extent % blocks == 0 ? least : 0;
}

/// Formats in blocks of the size that the shapes of numbers and scales say, along the last axis.
void add_formats_of_shape(const Quantized& given, std::vector<NamedOrCustomBlock>& out) {
  constexpr std::uint64_t most = 1024;  // elements of a side
  const std::vector<std::uint64_t>& scales = given.scales.shape;
  const std::size_t axes = given.shape.size();
  if (axes < 2 || scales.size() != axes) return;
  const bool same = std::equal(scales.begin(), scales.end() - 2, given.shape.begin());
  const std::uint64_t rows = size_of_blocks(given.shape[axes - 2], scales[axes - 2]);
  const std::uint64_t along = size_of_blocks(given.shape[axes - 1], scales[axes - 1]);
  if (!same || rows == 0 || along == 0 || rows * along == 1 || rows > most || along > most) return;
  const std::size_t known = out.size();
  for (std::size_t i = 0; i < known; ++i) {
    NamedOrCustomBlock row = out[i];
    row.format.shape = {static_cast<int>(rows), static_cast<int>(along)};
    const auto is_there = [&](const NamedOrCustomBlock& x) { return x.format == row.format; };
    if (std::ranges::any_of(out, is_there)) continue;
    row.name = spec_of(row.format);
    out.push_back(std::move(row));
  }
}

std::size_t elements_of_shape(std::span<const std::uint64_t> shape) {
  std::size_t out = 1;
  for (const std::uint64_t extent : shape) out *= extent;
  return out;
}

/// Whether bytes all lie below a power of two.
bool are_below(std::span<const std::byte> bytes, int bits) {
  return std::ranges::all_of(bytes,
                             [&](std::byte b) { return std::to_integer<int>(b) >> bits == 0; });
}

std::vector<std::uint64_t> shape_of_pairs(std::vector<std::uint64_t> shape) {
  if (shape.empty()) shape = {1};
  shape.back() = (shape.back() + 1) / 2;
  return shape;
}

bool is_integer_of(const Dtype& dtype, std::size_t bits) {
  return dtype.kind == DtypeKind::integer && dtype.bits == bits;
}

/// Whether stored codes may be those of a format, of a tensor of this shape.
bool codes_fit(const StoredArray& codes, const BlockFormat& format,
               const std::vector<std::uint64_t>& shape) {
  const Format& element = format.element;
  if (element.bits() == 4 && codes.dtype.bits == 8 && codes.shape == shape_of_pairs(shape) &&
      codes.shape != shape) {
    return true;
  }
  if (codes.shape != shape) return false;
  if (codes.dtype.kind == DtypeKind::floating) return *find_format(codes.dtype.format) == element;
  if (!is_integer_of(codes.dtype, 8 * code_bytes(element))) return false;
  return element.bits() >= 8 || are_below(codes.bytes, element.bits());
}

/// The stored scales as codes of a format, in the order of storage; nothing where they are none.
std::optional<StoredScales> scales_as_stored(const StoredArray& scales, const Format& format) {
  StoredScales out;
  const auto take = [&](std::size_t bytes, auto&& code_of) {
    out.codes.reserve(scales.bytes.size() / bytes);
    for (std::size_t i = 0; i < scales.bytes.size(); i += bytes) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &scales.bytes[i], bytes);
      if (!code_of(bits)) return false;
    }
    return true;
  };
  const auto as_it_is = [&](std::uint32_t bits) {
    const std::uint32_t mask = format.bits() >= 32 ? 0xFFFFFFFF : (1U << format.bits()) - 1;
    out.signs += (bits & ~mask) != 0 ? 1 : 0;
    out.codes.push_back(bits);
    return true;
  };
  const Dtype& dtype = scales.dtype;
  if (dtype.kind == DtypeKind::integer && code_bytes(format) == 1 &&
      (dtype.bits == 8 || dtype.bits == 32)) {
    return take(1, as_it_is) ? std::optional(out) : std::nullopt;
  }
  if (dtype.kind != DtypeKind::floating || dtype.bits > 32) return std::nullopt;
  const Format from = *find_format(dtype.format);
  if (from == format || (from == e4m3 && format == ue4m3)) {
    return take(dtype.bits / 8, as_it_is) ? std::optional(out) : std::nullopt;
  }
  if (dtype.bits < 16) return std::nullopt;
  // Numbers of another format: those that the format has.
  if (format == binary32) out.held = from;
  const bool exact = take(dtype.bits / 8, [&](std::uint32_t bits) {
    if (decode(bits, from).kind != Kind::nan && decode(bits, from).negative) return false;
    const Projected made = convert(bits, from, format);
    out.codes.push_back(static_cast<std::uint32_t>(made.bits));
    const bool is_held = (made.flags & (Flag::inexact | Flag::overflow | Flag::invalid)) == 0;
    return is_held && decode(made.bits, format).kind == decode(bits, from).kind;
  });
  return exact ? std::optional(out) : std::nullopt;
}

ScaleGrid turned_grid(ScaleGrid grid) { return {grid.columns, grid.rows}; }

/// Scales in the order of storage, row by row.
std::vector<std::uint32_t> in_order(const StoredOrder& order, ScaleGrid grid,
                                    std::span<const std::uint32_t> stored) {
  if (!order.of_transpose) return row_by_row(*order.layout, grid, stored);
  const std::vector<std::uint32_t> columns = row_by_row(*order.layout, turned_grid(grid), stored);
  std::vector<std::uint32_t> out(columns.size());
  for (std::size_t r = 0; r < grid.rows; ++r) {
    for (std::size_t c = 0; c < grid.columns; ++c) {
      out[r * grid.columns + c] = columns[c * grid.rows + r];
    }
  }
  return out;
}

std::uint64_t other_than_0(std::span<const std::uint32_t> codes) {
  return codes.size() - static_cast<std::uint64_t>(std::ranges::count(codes, 0U));
}

/// Orders of so many scales of a format.
std::vector<StoredOrder> orders_that_fit(const BlockView& view, const StoredArray& stored,
                                         std::size_t count, const BlockFormat& format) {
  const ScaleGrid grid = grid_of(view.scale_shape);
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::vector<StoredOrder> out;
  std::vector<std::vector<std::uint32_t>> seen;
  for (const bool of_transpose : {false, true}) {
    for (const ScaleLayout& layout : scale_layouts) {
      if (!layout.is_of(format)) continue;
      const ScaleGrid filled = layout.filled(of_transpose ? turned_grid(grid) : grid);
      if (filled.rows * filled.columns != count) continue;
      StoredOrder order{&layout, of_transpose, {layout.name}};
      std::vector<std::uint32_t> places = in_order(order, grid, numbers);
      const auto same = std::ranges::find(seen, places);
      if (same == seen.end()) {
        seen.push_back(std::move(places));
        out.push_back(std::move(order));
        continue;
      }
      StoredOrder& its = out[static_cast<std::size_t>(same - seen.begin())];
      its.is_turned_rows = its.is_turned_rows || (its.layout->columns_first && of_transpose &&
                                                  layout.name == "row_major");
      if (its.of_transpose == of_transpose) its.same.push_back(layout.name);
    }
  }
  // Before others those whose array has the stored shape.
  std::ranges::stable_partition(out, [&](const StoredOrder& order) {
    return !order.of_transpose &&
           stored.shape ==
               (order.layout->name == "row_major" ? view.scale_shape : order.layout->shape(grid));
  });
  return out;
}

std::vector<std::uint64_t> with_last_two_exchanged(std::vector<std::uint64_t> shape) {
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

/// Adds the readings in one format that fit the sizes and dtypes.
void add_readings(const Quantized& given, const NamedOrCustomBlock& row,
                  std::vector<ScaleReading>& out) {
  const auto scales = scales_as_stored(given.scales, row.format.scale);
  // A scale of the tensor that is given is to be explained, too.
  if (!scales || (given.tensor && !row.format.tensor_scale)) return;
  for (const bool transposed : {false, true}) {
    if (transposed && given.shape.size() < 2) continue;
    const std::vector<std::uint64_t> shape =
        transposed ? with_last_two_exchanged(given.shape) : given.shape;
    if (!codes_fit(given.codes, row.format, shape)) continue;
    const std::size_t axes = std::max<std::size_t>(shape.size(), 1);
    const auto add = [&](std::size_t axis, BlockView view) {
      ScaleReading reading{row, transposed, shape, axis};
      reading.view = std::move(view);
      reading.orders =
          orders_that_fit(reading.view, given.scales, scales->codes.size(), row.format);
      const bool is_there = std::ranges::any_of(out, [&](const ScaleReading& other) {
        return other.transposed == transposed && other.view == reading.view &&
               other.format.format.element == row.format.element &&
               other.format.format.scale == row.format.scale &&
               other.format.format.tensor_scale == row.format.tensor_scale &&
               other.format.format.twos_complement == row.format.twos_complement;
      });
      if (!reading.orders.empty() && !is_there) out.push_back(std::move(reading));
    };
    for (std::size_t back = 0; back < axes; ++back) {
      const std::size_t axis = axes - 1 - back;
      if (row.format.is_of_tensor() && back > 0) continue;
      if (row.format.shape.rows != 1 && back > 1) continue;
      add(axis, block_view(row.format, shape, static_cast<int>(axis)));
    }
    // TransformerEngine's blocks of several rows lie in all axes but the last as one.
    if (row.format.shape.rows > 1 && axes > 2) {
      add(axes - 1, block_view(row.format, as_rows(shape), -1));
    }
  }
}

std::uint32_t sign_from_lowest(std::uint32_t code, int bits) {
  return (code << 1 & ((1U << bits) - 1)) | code >> (bits - 1);
}
std::uint32_t bits_in_reverse(std::uint32_t code, int bits) {
  std::uint32_t out = 0;
  for (int i = 0; i < bits; ++i) out |= (code >> i & 1) << (bits - 1 - i);
  return out;
}
std::uint32_t sign_inverted(std::uint32_t code, int bits) { return code ^ 1U << (bits - 1); }
std::uint32_t complement_of_negative(std::uint32_t code, int bits) {
  const std::uint32_t sign = 1U << (bits - 1), mask = 2 * sign - 1;
  return (code & sign) == 0 ? code : (~(code & (sign - 1)) + 1) & mask;
}
std::uint32_t sign_lost(std::uint32_t code, int bits) { return code & ((1U << (bits - 1)) - 1); }

constexpr auto readings_of_codes = std::to_array<CodeReading>({
    {"low_first", ""},
    {.name = "high_first",
     .words = "the first of two codes in the high half of its byte",
     .order = NibbleOrder::high_first,
     .is_packed = true},
    {.name = "sign_lowest",
     .words = "codes with their sign in the lowest bit",
     .words_of_complement = "codes with their highest bit in the lowest place",
     .stored_as = &sign_from_lowest},
    {.name = "reversed",
     .words = "codes with their bits in reverse",
     .stored_as = &bits_in_reverse},
    {.name = "twos_complement",
     .words = "codes in two's complement, not as sign and magnitude",
     .words_of_complement = "codes as sign and magnitude, not in two's complement",
     .stored_as = &complement_of_negative},
    {.name = "sign_inverted",
     .words = "codes with their signs inverted",
     .words_of_complement = "codes in offset binary, each by half of their range above",
     .stored_as = &sign_inverted},
    {.name = "sign_lost",
     .words = "codes without their signs",
     .words_of_complement = "codes without their highest bits",
     .stored_as = &sign_lost},
});

/// Drops readings of wider formats where each byte holds a code of 4 bits: scaled by their amaxes,
/// numbers would reach the others.
void drop_wider(const Quantized& given, std::vector<ScaleReading>& readings) {
  constexpr int bits = 4;
  const auto is_narrow = [](const ScaleReading& x) {
    return x.format.format.element.bits() == bits;
  };
  const bool has_narrow_bytes =
      given.codes.bytes.size() == given.x.size() &&
      std::ranges::all_of(given.codes.bytes,
                          [](std::byte x) { return x < std::byte{1 << bits}; }) &&
      std::ranges::any_of(given.codes.bytes, [](std::byte x) { return x != std::byte{0}; });
  if (!has_narrow_bytes || std::ranges::none_of(readings, is_narrow)) return;
  std::erase_if(readings, [&](const ScaleReading& x) { return !is_narrow(x); });
}

}  // namespace

const std::span<const CodeReading> code_readings = readings_of_codes;

std::string_view code_words(const CodeReading& how, const BlockFormat& format) {
  return format.twos_complement && !how.words_of_complement.empty() ? how.words_of_complement
                                                                    : how.words;
}

std::vector<ScaleReading> scale_readings(const Quantized& given,
                                         const std::optional<NamedOrCustomBlock>& format) {
  std::vector<ScaleReading> out;
  if (format) {
    add_readings(given, *format, out);
    return out;
  }
  std::vector<NamedOrCustomBlock> tried = formats_to_read();
  for (const NamedOrCustomBlock& row : tried) add_readings(given, row, out);
  drop_wider(given, out);
  // Blocks of another size, where the scales' shape is not that of blocks of a known one.
  const bool is_of_shape = std::ranges::any_of(out, [&](const ScaleReading& x) {
    return (x.view.scale_shape == given.scales.shape && x.orders[0].layout->name == "row_major") ||
           std::ranges::any_of(x.orders, [&](const StoredOrder& order) {
             return !x.transposed && !order.of_transpose && x.format.format.scale == binary32 &&
                    order.layout->name != "row_major" &&
                    order.layout->shape(grid_of(x.view.scale_shape)) == given.scales.shape;
           });
  });
  if (is_of_shape) return out;
  const std::size_t known = tried.size();
  add_formats_of_shape(given, tried);
  for (std::size_t i = known; i < tried.size(); ++i) add_readings(given, tried[i], out);
  return out;
}

StoredScales stored_scales(const Quantized& given, const ScaleReading& reading,
                           const StoredOrder& order) {
  StoredScales out = *scales_as_stored(given.scales, reading.format.format.scale);
  out.stored = other_than_0(out.codes);
  out.codes = in_order(order, grid_of(reading.view.scale_shape), out.codes);
  out.of_blocks = other_than_0(out.codes);
  return out;
}

bool codes_are_packed(const Quantized& given, const ScaleReading& reading) {
  return reading.format.format.element.bits() == 4 && given.codes.shape != reading.shape;
}

std::vector<std::byte> stored_codes(const Quantized& given, const ScaleReading& reading,
                                    NibbleOrder order) {
  std::vector<std::byte> out;
  if (codes_are_packed(given, reading)) {
    const std::size_t n = elements_of_shape(reading.shape);
    const std::size_t line = reading.shape.empty() ? 1 : reading.shape.back();
    out.resize(n);
    for (std::size_t i = 0; i < n / line; ++i) {
      unpack_4(&given.codes.bytes[i * ((line + 1) / 2)], line, &out[i * line], order);
    }
  } else {
    out = given.codes.bytes;
  }
  return out;
}

std::vector<float> transposed_numbers(std::span<const float> x,
                                      std::span<const std::uint64_t> shape) {
  const std::size_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  const std::size_t size = rows * columns;
  std::vector<float> out(x.size());
  for (std::size_t matrix = 0; size > 0 && matrix < x.size() / size; ++matrix) {
    const float* const from = &x[matrix * size];
    float* const to = &out[matrix * size];
    constexpr std::size_t tile = 32;
    for (std::size_t r0 = 0; r0 < rows; r0 += tile) {
      for (std::size_t c0 = 0; c0 < columns; c0 += tile) {
        for (std::size_t r = r0; r < std::min(r0 + tile, rows); ++r) {
          for (std::size_t c = c0; c < std::min(c0 + tile, columns); ++c) {
            to[c * rows + r] = from[r * columns + c];
          }
        }
      }
    }
  }
  return out;
}

std::string order_text(const StoredOrder& order) {
  std::string out(order.layout->name);
  if (order.layout->name != "row_major") out = alternatives(order.same);
  if (order.is_turned_rows) return out + ", row_major of the transpose";
  return out + (order.of_transpose ? " of the transpose" : "");
}

}  // namespace binade
