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

/// Returns the elements of a vector for each of `lines`, or of a single element.
std::vector<std::uint64_t> for_lines(std::vector<std::uint64_t> elements,
                                     const std::vector<std::uint64_t>& shape,
                                     const std::string& where, const std::string& what,
                                     std::size_t lines) {
  const bool is_vector = std::ranges::count_if(shape, [](std::uint64_t n) { return n != 1; }) <= 1;
  if (is_vector && elements.size() == 1) elements.resize(lines, elements[0]);
  if (is_vector && elements.size() == lines) return elements;
  throw error_in(where, "shape " + shape_text(shape),
                 fmt::format("{} is a single number or of shape ({},) here", what, lines));
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

/// Scales in the order of their file, the grid that its shape says, and their format.
struct FileScales {
  std::vector<std::uint64_t> codes;
  ScaleGrid grid;
  Format format = binary32;
  bool bytes = false;  ///< integers, which are bits of a format of 8
};

FileScales read_file_scales(const BlockScaleFile& x, const ScaleLayout& layout) {
  FileScales out{.codes = {}, .grid = {}, .format = x.format};
  if (layout.word == 1) {
    out.bytes = x.format == binary32 && integer_format(x.where) == u8;
    if (out.bytes) out.format = e8m0;
    Array array = read_array(x.where, out.format, {.what = x.what, .may_round = false});
    const std::vector<std::uint64_t>& shape = array.shape;
    out.grid = {shape.size() == 2 ? shape[0] : 1,
                shape.size() == 2 ? shape[1] : array.elements.size()};
    out.codes = std::move(array.elements);
    return out;
  }
  out.format = e8m0;
  for (const std::uint64_t word :
       read_array(x.where, s32, {.what = x.what, .may_round = false}).elements) {
    for (std::size_t i = 0; i < layout.word; ++i) out.codes.push_back(word >> (8 * i) & 0xFF);
  }
  out.grid = {1, out.codes.size()};
  return out;
}

const ScaleLayout& layout_of(const std::string& name) {
  if (const ScaleLayout* const layout = find_scale_layout(name)) return *layout;
  std::vector<std::string_view> names;
  for (const ScaleLayout& row : scale_layouts) names.push_back(row.name);
  throw Error("--scale-layout " + printable(name) + ": no such order" + did_you_mean(name, names) +
              "; there are " + listed(names));
}

}  // namespace

bool are_block_scales(const std::string& where, std::size_t lines) {
  const OpenedTensor tensor = open_tensor(where);
  const std::vector<std::uint64_t>& shape = tensor.info().shape;
  if (shape.size() != 2) return false;
  const std::uint64_t all = shape[0] * shape[1];
  const bool is_vector = shape[0] == 1 || shape[1] == 1;
  return !is_vector || (all != 1 && all != lines);
}

LineScales read_block_scales(const BlockScaleFile& x) {
  const ScaleLayout& layout = layout_of(x.layout);
  const bool plain = layout.name == scale_layouts[0].name;
  if (!plain && x.length == 0) {
    throw Error("--scale-run is missing: in the order " + x.layout +
                " the shape does not tell how many elements of K share a scale; as 32");
  }
  constexpr std::size_t least = 16;  // of a block that the shape leaves open
  FileScales file = read_file_scales(x, layout);
  ScaleGrid& grid = file.grid;
  std::vector<std::uint64_t>& codes = file.codes;
  if (plain && x.transposed) std::swap(grid.rows, grid.columns);
  LineScales out{x.length == 0 ? shared_by(x.k, grid.columns, least) : x.length, {}};
  const std::size_t runs = out.length == 0 ? 0 : (x.k + out.length - 1) / out.length;
  std::size_t height = plain ? shared_by(x.lines, grid.rows, least) : 1;
  if (!plain) {
    const ScaleGrid own{x.lines, runs}, filled = layout.filled(own);
    if (filled.rows * filled.columns == codes.size()) {
      codes = row_by_row<std::uint64_t>(layout, own, codes);
      grid = own;
    } else {
      height = 0;
    }
  }
  if (height == 0 || runs != grid.columns) {
    const std::string of_k =
        x.length == 0 ? std::string() : fmt::format(" of {} elements of K", x.length);
    throw error_in(x.where, fmt::format("{} scales", codes.size()),
                   fmt::format("{} of {} lines of {} elements is a number, one for each line, or "
                               "one for each block{}",
                               x.what, x.lines, x.k, of_k));
  }
  constexpr std::size_t nvfp4_run = 16;  // whose scales are ue4m3
  if (file.bytes && out.length == nvfp4_run) file.format = ue4m3;
  for (std::uint64_t& code : codes) code = convert(code, file.format, binary32).bits;
  out.codes.resize(x.lines * runs);
  const bool down = plain && x.transposed;
  for (std::size_t line = 0; line < x.lines; ++line) {
    const std::size_t row = line / height;
    for (std::size_t run = 0; run < runs; ++run) {
      const std::size_t at = down ? run * grid.rows + row : row * grid.columns + run;
      out.codes[line * runs + run] = static_cast<std::uint32_t>(codes[at]);
    }
  }
  return out;
}

std::vector<std::uint64_t> read_scales(const std::string& where, const std::string& what,
                                       std::size_t lines) {
  Array array = read_array(where, binary32, {.what = what, .may_round = false});
  return for_lines(std::move(array.elements), array.shape, where, what, lines);
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
  for (const std::uint64_t bits :
       for_lines(read_elements(*tensor.file, tensor.index), info.shape, where, what, lines)) {
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
