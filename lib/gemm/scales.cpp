// SPDX-License-Identifier: Apache-2.0
//
// Reads vectors that go with rows or columns and scales that go with blocks, and makes zero points
// an addend of the sum.
#include "lib/gemm/scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/block/scale_layout.h"
#include "lib/gemm/files.h"
#include "lib/io/opened_tensor.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Returns the elements of a vector for each line, or for each group, or of a single element.
std::vector<std::uint64_t> for_lines(const std::vector<std::uint64_t>& elements,
                                     std::vector<std::uint64_t> shape, const std::string& where,
                                     const std::string& what, const ScaledLines& lines) {
  const std::uint64_t each = lines.count / lines.groups;
  const std::string shown = shape_text(shape);
  std::erase(shape, 1);
  const bool is_vector = shape.size() <= 1;
  if (is_vector && elements.size() == 1) return std::vector(lines.count, elements[0]);
  const bool of_stack = shape == std::vector<std::uint64_t>{lines.groups, each};
  const bool of_lines = is_vector && (!lines.is_stack || each == 1 || lines.groups == 1);
  if ((of_lines || (lines.is_stack && of_stack)) && elements.size() == lines.count) {
    return elements;
  }
  if (is_vector && !lines.group.empty() && elements.size() == lines.groups) {
    std::vector<std::uint64_t> out;
    for (const std::uint32_t group : lines.group) {
      out.push_back(group < lines.groups ? elements[group] : 0);
    }
    return out;
  }
  const std::string of_groups =
      lines.group.empty() ? "" : fmt::format(", one for each of {} groups,", lines.groups);
  throw error_in(where, "shape " + shown,
                 fmt::format("{} is a single number{} or of shape {} here", what, of_groups,
                             lines.is_stack ? fmt::format("({}, {})", lines.groups, each)
                                            : fmt::format("({},)", lines.count)));
}

/// Returns the sums of lines of k integers, modulo 2^32.
std::vector<std::uint32_t> line_sums(const std::vector<std::uint64_t>& codes, std::size_t k,
                                     const Format& f) {
  std::vector<std::uint32_t> out(codes.size() / std::max<std::size_t>(k, 1));
  for (std::size_t line = 0; line < out.size(); ++line) {
    for (std::size_t i = 0; i < k; ++i) {
      out[line] += static_cast<std::uint32_t>(integer_of(codes[line * k + i], f));
    }
  }
  return out;
}

/// Returns how many neighbours share a scale where `parts` scales are of n: the power of two from
/// `least` on of which there are so many parts, the smallest one, else a divisor of n; 0: none.
std::size_t shared_by(std::size_t n, std::size_t parts, std::size_t least) {
  if (parts == n) return 1;
  if (parts == 0 || parts > n) return 0;
  for (std::size_t size = least; size / 2 < n; size *= 2) {
    if ((n + size - 1) / size == parts) return size;
  }
  return n % parts == 0 ? n / parts : 0;
}

/// Scales in the order of their file, its shape, and their format.
struct FileScales {
  std::vector<std::uint64_t> codes;
  std::vector<std::uint64_t> shape;
  Format format = binary32;
  bool bytes = false;  ///< integers, which are bits of a format of 8
};

FileScales read_file_scales(const BlockScaleFile& x, const ScaleLayout& layout) {
  FileScales out{.codes = {}, .shape = {}, .format = x.format};
  if (layout.word == 1) {
    out.bytes = x.format == binary32 && integer_format(x.where) == u8;
    if (out.bytes) out.format = e8m0;
    Array array = read_array(x.where, out.format, {.what = x.what, .may_round = false});
    out.shape = std::move(array.shape);
    out.codes = std::move(array.elements);
    return out;
  }
  out.format = e8m0;
  for (const std::uint64_t word :
       read_array(x.where, s32, {.what = x.what, .may_round = false}).elements) {
    for (std::size_t i = 0; i < layout.word; ++i) out.codes.push_back(word >> (8 * i) & 0xFF);
  }
  return out;
}

/// Neighbouring lines whose scales lie together, `rows` times `columns` of them.
struct ScalePart {
  std::size_t first = 0, lines = 0;
  ScaleGrid grid{};
};

/// Returns the matrices that a file in rows has scales of, as its shape says.
std::vector<ScalePart> plain_parts(const BlockScaleFile& x,
                                   const std::vector<std::uint64_t>& shape) {
  const ScaledLines& lines = x.lines;
  const std::size_t matrices = lines.is_stack ? lines.groups : 1;
  const std::size_t axes = lines.is_stack ? 3 : 2;
  const bool is_vector = !lines.is_stack && shape.size() < axes;
  if (!is_vector && (shape.size() != axes || (lines.is_stack && shape[0] != matrices))) return {};
  std::vector<ScalePart> out;
  for (std::size_t i = 0; i < matrices; ++i) {
    const std::size_t each = lines.count / matrices;
    const std::size_t columns = shape.empty() ? 1 : shape.back();
    out.push_back({i * each, each, {is_vector ? 1 : shape[axes - 2], columns}});
    if (x.transposed) std::swap(out[i].grid.rows, out[i].grid.columns);
  }
  return out;
}

/// Returns the lines whose scales are filled up together, each `height` lines with a scale of their
/// own: all, those of each matrix of a stack, or, if there are as many scales as these have, those
/// of each group; nothing if there are others.
std::vector<ScalePart> filled_parts(const BlockScaleFile& x, const ScaleLayout& layout,
                                    std::size_t scales, std::size_t height) {
  const ScaledLines& lines = x.lines;
  const std::size_t runs = (x.k + x.length - 1) / x.length;
  const auto grid = [&](std::size_t count) {
    return ScaleGrid{(count + height - 1) / height, runs};
  };
  const auto size = [&](std::size_t count) {
    const ScaleGrid filled = layout.filled(grid(count));
    return filled.rows * filled.columns;
  };
  if (!lines.is_stack && size(lines.count) == scales) {
    return {{0, lines.count, grid(lines.count)}};
  }
  std::vector<ScalePart> out;
  std::size_t all = 0;
  for (std::size_t first = 0, end = 0; first < lines.count; first = end) {
    const std::size_t each = lines.count / lines.groups;
    for (end = first + 1; end < lines.count; ++end) {
      const bool same = lines.is_stack
                            ? end / each == first / each
                            : lines.group.empty() || lines.group[end] == lines.group[first];
      if (!same) break;
    }
    if (!lines.is_stack && !lines.group.empty() && lines.group[first] == lines.groups) continue;
    out.push_back({first, end - first, grid(end - first)});
    all += size(end - first);
  }
  return all == scales ? out : std::vector<ScalePart>{};
}

const ScaleLayout& layout_of(const std::string& name) {
  if (const ScaleLayout* const layout = find_scale_layout(name)) return *layout;
  std::vector<std::string_view> names;
  for (const ScaleLayout& row : scale_layouts) names.push_back(row.name);
  throw Error("--scale-layout " + printable(name) + ": no such order" + did_you_mean(name, names) +
              "; there are " + listed(names));
}

}  // namespace

ScaledLines rows_of(const RowGroups& groups, std::size_t m) {
  ScaledLines out{.count = m, .groups = groups.count, .is_stack = groups.stack != 0};
  for (const std::int32_t group : groups.of_row) {
    out.group.push_back(group < 0 ? static_cast<std::uint32_t>(groups.count)
                                  : static_cast<std::uint32_t>(group));
  }
  return out;
}

ScaledLines columns_of(const RowGroups& groups, std::size_t n) {
  ScaledLines out{.count = groups.count * n, .groups = groups.count, .is_stack = groups.any()};
  for (std::size_t line = 0; line < out.count && groups.any(); ++line) {
    out.group.push_back(static_cast<std::uint32_t>(line / n));
  }
  return out;
}

bool are_block_scales(const std::string& where, const ScaledLines& lines, bool other_has) {
  const OpenedTensor tensor = open_tensor(where);
  std::vector<std::uint64_t> shape = tensor.info().shape;
  std::size_t count = lines.count;
  if (lines.is_stack) {
    if (shape.size() != 3) return false;
    shape.erase(shape.begin());
    count /= lines.groups;
  }
  if (shape.size() != 2) return false;
  const std::uint64_t all = shape[0] * shape[1];
  const bool is_vector = shape[0] == 1 || shape[1] == 1;
  return !is_vector || other_has || (all != 1 && all != count);
}

LineScales read_block_scales(const BlockScaleFile& given) {
  BlockScaleFile x = given;
  const ScaleLayout& layout = layout_of(x.layout);
  const bool plain = layout.name == scale_layouts[0].name;
  if (x.unit != 0 && x.length % x.unit != 0) {
    throw Error(fmt::format(
        "--scale-run {}: the instruction multiplies by scales of {} elements of K; give a multiple",
        x.length, x.unit));
  }
  if (!plain && x.length == 0) x.length = x.unit;
  if (!plain && x.length == 0) {
    throw Error("--scale-run is missing: in the order " + x.layout +
                " the shape does not tell how many elements of K share a scale; as 32");
  }
  // Of a block that the shape leaves open.
  const std::size_t least = x.unit == 0 ? 16 : x.unit;
  FileScales file = read_file_scales(x, layout);
  constexpr std::size_t tile = 128;  // rows of the blocks of layouts that fill up
  std::vector<ScalePart> parts =
      plain ? plain_parts(x, file.shape) : filled_parts(x, layout, file.codes.size(), 1);
  if (!plain && parts.empty()) parts = filled_parts(x, layout, file.codes.size(), tile);
  const auto refuse = [&] {
    const std::string of_k =
        x.length == 0 ? std::string() : fmt::format(" of {} elements of K", x.length);
    const std::string of_stack =
        x.lines.is_stack ? fmt::format(", in a stack of {}", x.lines.groups) : std::string();
    throw error_in(x.where,
                   file.shape.empty() ? fmt::format("{} scales", file.codes.size())
                                      : "scales of shape " + shape_text(file.shape),
                   fmt::format("{} of {} lines of {} elements{} is a number, one for each line, or "
                               "one for each block{}",
                               x.what, x.lines.count, x.k, of_stack, of_k));
  };
  if (parts.empty()) refuse();
  if (x.length == 0) x.length = shared_by(x.k, parts[0].grid.columns, least);
  if (x.unit != 0 && x.length % x.unit != 0) refuse();
  LineScales out{x.length, {}};
  const std::size_t runs = out.length == 0 ? 0 : (x.k + out.length - 1) / out.length;
  constexpr std::size_t nvfp4_run = 16;  // whose scales are ue4m3
  if (file.bytes && out.length == nvfp4_run) file.format = ue4m3;
  for (std::uint64_t& code : file.codes) code = convert(code, file.format, binary32).bits;
  out.codes.resize(x.lines.count * runs);
  const bool down = plain && x.transposed;
  std::size_t from = 0;
  for (const ScalePart& part : parts) {
    const ScaleGrid& grid = part.grid;
    const std::size_t height = shared_by(part.lines, grid.rows, 16);
    if (height == 0 || runs != grid.columns) refuse();
    const ScaleGrid filled = layout.filled(grid);
    const std::span<const std::uint64_t> codes =
        std::span(file.codes).subspan(from, filled.rows * filled.columns);
    from += codes.size();
    for (std::size_t line = 0; line < part.lines; ++line) {
      const std::size_t row = line / height;
      for (std::size_t run = 0; run < runs; ++run) {
        const std::size_t at = down ? run * grid.rows + row : layout.place(filled, row, run);
        out.codes[(part.first + line) * runs + run] = static_cast<std::uint32_t>(codes[at]);
      }
    }
  }
  return out;
}

std::vector<std::uint64_t> read_scales(const std::string& where, const std::string& what,
                                       const ScaledLines& lines) {
  const Array array = read_array(where, binary32, {.what = what, .may_round = false});
  return for_lines(array.elements, array.shape, where, what, lines);
}

std::vector<std::int32_t> read_zero_points(const std::string& where, const std::string& what,
                                           std::size_t lines) {
  const OpenedTensor tensor = open_tensor(where);
  const TensorInfo& info = tensor.info();
  if (info.dtype.kind != DtypeKind::integer) {
    throw error_in(where, fmt::format("dtype {}", info.dtype.name), what + " takes integers");
  }
  const bool is_signed = info.dtype.name.starts_with('I');
  const auto shift = static_cast<int>(64 - info.dtype.bits);
  const auto narrow = [&](auto value) {
    if (std::in_range<std::int32_t>(value)) return static_cast<std::int32_t>(value);
    throw error_in(where, fmt::format("a zero point of {}", value), "an s32 holds zero points");
  };
  std::vector<std::int32_t> out;
  for (const std::uint64_t bits : for_lines(read_elements(*tensor.file, tensor.index), info.shape,
                                            where, what, {.count = lines})) {
    const std::uint64_t high = bits << shift;
    out.push_back(is_signed ? narrow(static_cast<std::int64_t>(high) >> shift)
                            : narrow(high >> shift));
  }
  return out;
}

void add_zero_points(std::vector<std::uint64_t>& c, const GemmOperands& x, const DotTypes& types,
                     const ZeroPoints& zeros, bool dots) {
  if (zeros.a.empty() && zeros.b.empty()) return;
  const std::size_t columns = dots ? 1 : x.n;
  c.resize(x.m * columns);
  const std::vector<std::uint32_t> of_rows = line_sums(x.a, x.k, types.a);
  const std::vector<std::uint32_t> of_columns = line_sums(x.b, x.k, types.b);
  const auto zero = [](const std::vector<std::int32_t>& all, std::size_t line) {
    return all.empty() ? std::uint32_t{0} : static_cast<std::uint32_t>(all[line]);
  };
  for (std::size_t i = 0; i < x.m; ++i) {
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t j = dots ? i : column;
      const std::uint32_t a = zero(zeros.a, i), b = zero(zeros.b, j);
      const std::uint32_t change =
          static_cast<std::uint32_t>(x.k) * a * b - a * of_columns[j] - b * of_rows[i];
      std::uint64_t& one = c[i * columns + column];
      one = static_cast<std::uint32_t>(static_cast<std::uint32_t>(one) + change);
    }
  }
}

void add_integer_bias(std::vector<std::uint64_t>& c, std::size_t m,
                      const std::vector<std::uint64_t>& bias) {
  if (bias.empty()) return;
  c.resize(m * bias.size());
  for (std::size_t at = 0; at < c.size(); ++at) {
    c[at] = static_cast<std::uint32_t>(c[at] + bias[at % bias.size()]);
  }
}

}  // namespace binade
