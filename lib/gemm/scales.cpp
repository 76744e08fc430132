// SPDX-License-Identifier: Apache-2.0
//
// Reads vectors that go with rows or columns, and makes zero points an addend of the sum.
#include "lib/gemm/scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/gemm/files.h"
#include "lib/io/opened_tensor.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

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

}  // namespace

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
