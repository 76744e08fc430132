// SPDX-License-Identifier: Apache-2.0
//
// Operands of products as floats or doubles, and their packing side by side. V names the level, so
// that each level has its own copy of these functions, which the compiler vectorizes for it. A line
// is a row of a or a column of b. A group (a panel) is 32 columns or 4 rows, side by side at each
// k, so that a vector of columns is one load:
//
//     line 0    k0 k1 k2 …        group    [k0] line 0  line 1  …  line 31        a panel of 32 columns,
//     line 1    k0 k1 k2 …                 [k1] line 0  line 1  …  line 31        or of 4 rows
//     …                                    [k2] …
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/carrier.h"
#include "emulate/fast/products.h"
#include "emulate/fast/vector_decode.h"

namespace binade::fast {

/// Copies n codes to containers of Code.
template <class V, class Code>
void narrow_codes(const std::uint64_t* codes, std::size_t n, std::byte* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto code = static_cast<Code>(codes[i]);
    std::memcpy(out + i * sizeof(Code), &code, sizeof(Code));
  }
}

/// Converts n codes of at most 32 bits to floats (values_of_codes of emulate/quantize.h). Returns
/// false where one is a NaN or an infinity.
template <class V>
bool decode_to_floats(const Format& f, const std::uint64_t* codes, std::size_t n, float* out) {
  constexpr std::size_t some = 256;
  std::array<std::byte, some * sizeof(std::uint32_t)> narrow;
  std::uint32_t largest = 0;
  for (std::size_t at = 0; at < n; at += some) {
    const std::size_t count = std::min(some, n - at);
    switch (code_bytes(f)) {
      case 1: narrow_codes<V, std::uint8_t>(codes + at, count, narrow.data()); break;
      case 2: narrow_codes<V, std::uint16_t>(codes + at, count, narrow.data()); break;
      default: narrow_codes<V, std::uint32_t>(codes + at, count, narrow.data());
    }
    decode_vectors<V>(narrow.data(), out + at, count, f);
    for (std::size_t i = 0; i < count; ++i) {
      largest = std::max(largest, std::bit_cast<std::uint32_t>(out[at + i]) & 0x7FFFFFFF);
    }
  }
  return largest < 0x7F800000;
}

/// Copies x.length operands of each of `lines` lines that lie side by side, as [k][line], in memory
/// already. Number i of a packed line is number places[i] of the line, or 0 where places[i] is
/// negative.
template <class V, std::size_t lines, class Real>
void copy_side_by_side(const PackedLines& x, Real* group) {
  const Real* const from = x.line<Real>(0);
  for (std::size_t i = 0; i < x.length; ++i, group += lines) {
    if (x.places[i] < 0) {
      std::fill_n(group, lines, Real{0});
    } else {
      std::memcpy(group, from + x.places[i], lines * sizeof(Real));
    }
  }
}

/// Packs x.length operands of each line as [k][line], 64 of k at a time, so that what is written
/// stays in the nearest cache. Number i of a packed line is number places[i] of the line, or 0
/// where places[i] is negative. Lines from x.count on are not written.
template <class V, class Real>
void pack_side_by_side(const PackedLines& x, Real* group) {
  bool are_so = true;
  for (std::size_t i = 1; i < x.count; ++i) are_so &= x.line<Real>(i) == x.line<Real>(0) + i;
  if (are_so && x.count == tile_columns) return copy_side_by_side<V, tile_columns>(x, group);
  if (are_so && x.count == tile_rows && x.lines == tile_rows) {
    return copy_side_by_side<V, tile_rows>(x, group);
  }
  constexpr std::size_t piece = 64;
  const std::size_t lines = x.lines;
  for (std::size_t first = 0; first < x.length; first += piece) {
    const std::size_t n = std::min(piece, x.length - first);
    const std::int32_t* const places = x.places + first;
    Real* const to = group + first * lines;
    for (std::size_t line = 0; line < x.count; ++line) {
      const Real* const from = x.line<Real>(line);
      for (std::size_t i = 0; i < n; ++i) {
        to[i * lines + line] = places[i] < 0 ? Real{0} : from[places[i]];
      }
    }
  }
}

/// Replaces infinities and NaNs by zeros.
template <class V>
void drop_specials(float* values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    values[i] = (bits & 0x7F800000) == 0x7F800000 ? 0.0F : values[i];
  }
}

}  // namespace binade::fast
