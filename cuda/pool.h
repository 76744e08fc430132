// SPDX-License-Identifier: Apache-2.0
//
// Rows of dot products as kernels want them: packed as they lie in registers, sparse ones compressed
// with their metadata, and predecoded for the emulator. Plain C++, tested on the CPU.
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

/// Bits of an element in a register. FP6 and FP4 have a byte each in kind::f8f6f4.
constexpr int element_bits(const Format& f) { return is_integer(f) ? f.bits() : f.storage_bits(); }

/// Elements one behind the other, the first lowest. E2M1's four bits lie in bits 2 to 5 of its byte.
inline std::vector<unsigned char> packed(const std::vector<std::uint64_t>& codes, const Format& f) {
  const auto width = static_cast<std::size_t>(element_bits(f));
  const int up = f == e2m1 ? 2 : 0;
  std::vector<unsigned char> out(codes.size() * width / 8);
  for (std::size_t bit = 0; bit < out.size() * 8; bit += width < 8 ? width : 8) {
    const std::uint64_t part = codes[bit / width] << up >> bit % width;
    const std::uint64_t mask = width < 8 ? (std::uint64_t{1} << width) - 1 : 0xFF;
    out[bit / 8] |= static_cast<unsigned char>((part & mask) << bit % 8);
  }
  return out;
}

/// What a sparse instruction keeps of rows of a, and of each row 4 bits a group (PTX ISA, "Sparse
/// matrix storage"): the two positions of four, the lower in the lower bits; of two (tf32) 0100 for
/// the first and 1110 for the second.
struct KeptRows {
  std::vector<std::uint64_t> codes, positions;
};

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

/// Rows taken apart, and which of them are all finite.
struct PredecodedRows {
  std::vector<fast::Factor> factors;
  std::vector<unsigned char> finite;
};

/// Empty where the model or the types are not for `dot_predecoded`.
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

/// Error where the rows do not fit each other.
inline void check_rows(const Dots& dots, int k, const std::string& doing) {
  const std::size_t values = dots.c.size() * static_cast<std::size_t>(k);
  if (dots.a.size() == values && dots.b.size() == values) return;
  throw Error(doing + ": " + std::to_string(dots.c.size()) +
              " rows that do not fit a and b; report this as a bug of binade");
}

/// All that a kernel takes of a pool.
struct PackedPool {
  std::vector<unsigned char> a, b;
  std::vector<std::uint64_t> kept;  ///< of sparse instructions
  int row_bytes_a = 0, row_bytes_b = 0;
};

inline PackedPool packed_pool(const Instruction& x, const Dots& pool) {
  PackedPool out;
  const bool sparse = x.model.sparse_group != 0;
  out.b = packed(pool.b, x.types.b);
  out.row_bytes_b = x.k * element_bits(x.types.b) / 8;
  out.row_bytes_a = x.k * element_bits(x.types.a) / 8 / (sparse ? 2 : 1);
  if (sparse) {
    KeptRows rows = kept_rows(pool.a, x.k, x.model.sparse_group);
    out.a = packed(rows.codes, x.types.a);
    out.kept = std::move(rows.positions);
  } else {
    out.a = packed(pool.a, x.types.a);
  }
  return out;
}

}  // namespace binade
