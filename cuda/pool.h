// SPDX-License-Identifier: Apache-2.0
//
// Converts rows of dot products to the layouts that kernels read: packed as in registers, rows of
// sparse instructions compressed with their metadata, and decoded for the emulator. Plain C++,
// tested on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulate/fast/dot_blocks.h"
#include "emulate/tensor_core.h"
#include "lib/cases/dots.h"
#include "lib/device/device.h"

namespace binade {

/// Returns whether a kind takes e2m1 in 4 bits: mxf4 and mxf4nvf4.
constexpr bool packs_e2m1(ScaledKind kind) {
  return kind != ScaledKind::none && kind != ScaledKind::mxf8f6f4;
}

/// Returns the bits that an element takes in a register. FP6 and FP4 take 8, as in kind::f8f6f4 and
/// mxf8f6f4, but e2m1 takes 4 where a kind packs it.
constexpr int element_bits(const Format& f, ScaledKind kind = ScaledKind::none) {
  return is_integer(f) || packs_e2m1(kind) ? f.bits() : f.storage_bits();
}

/// Returns the codes packed one behind the other, the first in the lowest bits. In a byte of its
/// own, the four bits of an e2m1 are bits 2 to 5.
inline std::vector<unsigned char> packed(const std::vector<std::uint64_t>& codes, const Format& f,
                                         ScaledKind kind = ScaledKind::none) {
  const auto width = static_cast<std::size_t>(element_bits(f, kind));
  const int up = f == e2m1 && width == 8 ? 2 : 0;
  std::vector<unsigned char> out(codes.size() * width / 8);
  for (std::size_t bit = 0; bit < out.size() * 8; bit += width < 8 ? width : 8) {
    const std::uint64_t part = codes[bit / width] << up >> bit % width;
    const std::uint64_t mask = width < 8 ? (std::uint64_t{1} << width) - 1 : 0xFF;
    out[bit / 8] |= static_cast<unsigned char>((part & mask) << bit % 8);
  }
  return out;
}

/// Rows of a as a sparse instruction takes them: the codes of the kept elements, and a word per row
/// with 4 bits per group that say which are kept (PTX ISA, "Sparse matrix storage"). Of a group of
/// four, two positions are kept, the lower one in the lower two bits; of a group of two (tf32),
/// 0100 means that the first is kept and 1110 the second.
struct KeptRows {
  std::vector<std::uint64_t> codes, positions;
};

/// Compresses rows of k codes whose groups have `group` elements, 4 or 2.
inline KeptRows kept_rows(const std::vector<std::uint64_t>& a, int k, int group) {
  KeptRows out;
  const auto width = static_cast<std::size_t>(k);
  out.positions.resize(a.size() / width);
  for (std::size_t at = 0; at < a.size(); at += static_cast<std::size_t>(group)) {
    std::uint64_t positions = 0;
    for (int which = 0; which < group / 2; ++which) {
      const int position = kept_position(a.data() + at, group, which);
      out.codes.push_back(a[at + static_cast<std::size_t>(position)]);
      const int bits = group == 4 ? position << (2 * which) : position == 0 ? 0b0100 : 0b1110;
      positions |= static_cast<std::uint64_t>(bits);
    }
    out.positions[at / width] |= positions << (4 * (at % width / static_cast<std::size_t>(group)));
  }
  return out;
}

/// Decoded rows, and a byte per row that is 1 if all of its elements are finite.
struct PredecodedRows {
  std::vector<fast::Factor> factors;
  std::vector<unsigned char> finite;
};

/// Decodes rows of k codes of format f; the result is empty if fast::dot_predecoded does not
/// compute the model or the types.
inline PredecodedRows predecoded(const DotModel& model, const DotTypes& types, const Format& f,
                                 const std::vector<std::uint64_t>& codes, int k) {
  if (!fast::is_predecodable(model, types)) return {};
  PredecodedRows out;
  const auto width = static_cast<std::size_t>(k);
  out.factors.resize(codes.size());
  out.finite.resize(codes.size() / width);
  for (std::size_t row = 0; row < out.finite.size(); ++row) {
    const std::size_t at = row * width;
    const bool finite = fast::predecode(model, f, codes.data() + at, k, out.factors.data() + at);
    out.finite[row] = finite ? 1 : 0;
  }
  return out;
}

/// Throws Error if there are not as many operands as the instruction takes for each element of c.
/// `doing` is what the caller is doing.
inline void check_rows(const Dots& dots, const Instruction& x, const std::string& doing) {
  if (fit(dots, x)) return;
  throw Error(doing + ": " + std::to_string(dots.c.size()) +
              " rows that do not fit a and b, or their scales; report this as a bug of binade");
}

/// Returns the scales of rows, `number` each, as a word per row.
inline std::vector<std::uint32_t> scale_words(const std::vector<std::uint64_t>& scales,
                                              std::size_t number) {
  std::vector<std::uint32_t> out(number == 0 ? 0 : scales.size() / number);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    out[i / number] |= static_cast<std::uint32_t>(scales[i]) << (8 * (i % number));
  }
  return out;
}

/// The rows of a pool as `Tiles` (tiles.h) points to them.
struct PackedPool {
  std::vector<unsigned char> a, b;
  std::vector<std::uint64_t> kept;  ///< kept positions of a; empty for dense instructions
  std::vector<std::uint32_t> scales_a, scales_b;  ///< empty without scales of blocks
  int row_bytes_a = 0, row_bytes_b = 0;
};

inline PackedPool packed_pool(const Instruction& x, const Dots& pool) {
  PackedPool out;
  const bool sparse = x.model.sparse_group != 0;
  out.b = packed(pool.b, x.types.b, x.kind);
  out.row_bytes_b = x.k * element_bits(x.types.b, x.kind) / 8;
  out.row_bytes_a = x.k * element_bits(x.types.a, x.kind) / 8 / (sparse ? 2 : 1);
  out.scales_a = scale_words(pool.a_scales, scales_of_row(x));
  out.scales_b = scale_words(pool.b_scales, scales_of_row(x));
  if (sparse) {
    KeptRows rows = kept_rows(pool.a, x.k, x.model.sparse_group);
    out.a = packed(rows.codes, x.types.a);
    out.kept = std::move(rows.positions);
  } else {
    out.a = packed(pool.a, x.types.a, x.kind);
  }
  return out;
}

}  // namespace binade
