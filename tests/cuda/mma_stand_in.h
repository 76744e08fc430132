// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for mma.sync and mma.sp on the CPU: every lane reads the registers of its warp by
// CuTe's layouts and computes its elements of d by the emulator.
#pragma once

#include "tests/cuda/simt.h"
// simt.h comes first because it defines CUDA's keywords.
#include <algorithm>

#include "cuda/mma_tiles.cuh"
#include "cuda/pool.h"
#include "emulate/dot.h"
#include "tests/cuda/cute_layouts.h"

namespace binade::test {

/// The instruction that the stand-ins execute.
inline Instruction instruction_under_test;

using Codes = std::vector<std::uint64_t>;

/// Returns value number v, of `bits` bits, of registers that hold such values from the lowest bits
/// on.
template <class Registers>
std::uint64_t value_at(const Registers& registers, int v, int bits) {
  const int per = static_cast<int>(sizeof(registers[0])) * 8 / bits;
  const std::uint64_t word = registers[static_cast<std::size_t>(v / per)];
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return word >> (v % per * bits) & mask;
}

/// Writes value number v into registers that hold zeros there.
template <class Registers>
void add_value(Registers& registers, int v, int bits, std::uint64_t value) {
  using Word = std::remove_reference_t<decltype(registers[0])>;
  const int per = static_cast<int>(sizeof(Word)) * 8 / bits;
  registers[v / per] |= static_cast<Word>(static_cast<Word>(value) << (v % per * bits));
}

/// Returns the registers of all lanes of the warp; every lane must call it.
template <class Word, std::size_t n>
auto gathered(const Word (&registers)[n]) {
  std::array<Word, n> mine{};
  std::copy(registers, registers + n, mine.begin());
  return simt::warp_gather(mine);
}

/// Returns a `rows` × k matrix, row after row, from the registers of all lanes.
template <class All>
Codes matrix_of(const All& all, const CuteLayout& layout, int rows, int k, const Format& f,
                ScaledKind kind = ScaledKind::none) {
  Codes out(static_cast<std::size_t>(rows * k));
  const int bits = element_bits(f, kind);
  for (int t = 0; t < 32; ++t) {
    for (int v = 0; v < rows * k / 32; ++v) {
      const int offset = layout(t, v);
      const std::uint64_t code = value_at(all[static_cast<std::size_t>(t)], v, bits);
      out[static_cast<std::size_t>(offset % rows * k + offset / rows)] =
          f == e2m1 && bits == 8 ? code >> 2 : code;
    }
  }
  return out;
}

/// Returns the address of a row of a matrix with k columns.
inline const std::uint64_t* row_of(const Codes& matrix, int row, int k) {
  return matrix.data() + static_cast<std::ptrdiff_t>(row) * k;
}

/// Writes the `values` elements of d that this lane holds; dot_of(row, column, c) returns an
/// element. Registers that hold none become 0xDEADBEEF.
template <class Word, class DotOf>
void compute_d(MmaRegisters<Word>& x, const CuteLayout& layout, int thread, int m, int values,
               const DotTypes& types, const DotOf& dot_of) {
  std::fill(std::begin(x.d), std::end(x.d), Word{0xDEADBEEF});
  const int c_bits = types.c.storage_bits(), d_bits = types.d.storage_bits();
  for (int i = 0; i < values * d_bits / static_cast<int>(8 * sizeof(Word)); ++i) x.d[i] = 0;
  for (int v = 0; v < values; ++v) {
    const int offset = layout(thread, v);
    add_value(x.d, v, d_bits, dot_of(offset % m, offset / m, value_at(x.c, v, c_bits)));
  }
}

/// Executes m8n8k4 of f16: four products, one in each quadpair.
template <class Word>
void quadpair_mma(const Instruction& how, MmaRegisters<Word>& x) {
  const auto all_a = gathered(x.a);
  const auto all_b = gathered(x.b);
  const int lane = static_cast<int>(threadIdx.x % 32);
  Codes a(32), b(32);
  for (int t = 0; t < 8; ++t) {
    const auto from =
        static_cast<std::size_t>(offset_of(cute_quadpair.thread, t) + lane % 16 / 4 * 4);
    for (int v = 0; v < 4; ++v) {
      const int offset = cute_quadpair_ab(t, v);
      const auto at = static_cast<std::size_t>(offset % 8 * 4 + offset / 8);
      a[at] = value_at(all_a[from], v, 16);
      b[at] = value_at(all_b[from], v, 16);
    }
  }
  const int thread = lane % 4 + lane / 16 * 4;
  // c and d may have different layouts, so c is gathered by its own.
  Codes c(64);
  const CuteLayout& c_layout = how.types.c == binary16 ? cute_quadpair_c16 : cute_quadpair_c32;
  const auto all_c = gathered(x.c);
  for (int t = 0; t < 8; ++t) {
    const auto from =
        static_cast<std::size_t>(offset_of(cute_quadpair.thread, t) + lane % 16 / 4 * 4);
    for (int v = 0; v < 8; ++v) {
      c[static_cast<std::size_t>(c_layout(t, v))] =
          value_at(all_c[from], v, how.types.c.storage_bits());
    }
  }
  const CuteLayout& d_layout = how.types.d == binary16 ? cute_quadpair_c16 : cute_quadpair_c32;
  compute_d(x, d_layout, thread, 8, 8, how.types, [&](int i, int j, std::uint64_t) {
    return dot(how.model, how.types, row_of(a, i, 4), row_of(b, j, 4), 4,
               c[static_cast<std::size_t>(i + 8 * j)]);
  });
}

/// Returns the layouts of an instruction, and throws std::logic_error if there are none.
inline const CuteAtom& atom_of(int m, int k, int bits) {
  for (const CuteAtom& atom : cute_atoms) {
    if (atom.m == m && atom.k == k && atom.bits == bits) return atom;
  }
  throw std::logic_error("no layout of m" + std::to_string(m) + "k" + std::to_string(k));
}
/// Returns the layouts of a sparse instruction, and throws std::logic_error if there are none.
inline const CuteSparse& sparse_of(int k, int bits) {
  for (const CuteSparse& sparse : cute_sparse) {
    if (sparse.k == k && sparse.bits == bits) return sparse;
  }
  throw std::logic_error("no sparse layout of k" + std::to_string(k));
}

/// Returns the kept positions of each row of a, k / 2 per row, from the metadata of all lanes.
/// Throws std::logic_error if they are not metadata that PTX allows.
template <class All>
std::vector<int> kept_positions(const All& metadata, const CuteSparse& sparse) {
  const bool pairs = sparse.bits == 32;
  const int bits_of_element = pairs ? 2 : 1;
  const int group = pairs ? 2 : 4;
  Codes nibbles(static_cast<std::size_t>(16 * sparse.k / group));
  for (int t = 0; t < 32; ++t) {
    const bool read = sparse.k / group == 16 || t % 4 < sparse.k / group / 4;  // selector 0
    for (int v = 0; read && v < 32 / bits_of_element; v += group) {
      const int offset = sparse.metadata(t, v);
      const int at = offset % 16 * (sparse.k / group) + offset / 16 / group;
      nibbles[static_cast<std::size_t>(at)] =
          metadata[static_cast<std::size_t>(t)] >> (v * bits_of_element) & 0xF;
    }
  }
  std::vector<int> out;
  for (std::size_t i = 0; i < nibbles.size(); ++i) {
    const auto first = static_cast<int>(i % static_cast<std::size_t>(sparse.k / group)) * group;
    const auto nibble = static_cast<int>(nibbles[i]);
    if (pairs) {
      if (nibble != 0b0100 && nibble != 0b1110) throw std::logic_error("metadata of tf32");
      out.push_back(first + (nibble == 0b1110 ? 1 : 0));
    } else {
      if (nibble % 4 >= nibble / 4) throw std::logic_error("metadata out of order");
      out.push_back(first + nibble % 4);
      out.push_back(first + nibble / 4);
    }
  }
  return out;
}

/// Returns the elements of a column of b at n kept positions.
inline Codes picked(const std::uint64_t* b, const int* positions, int n) {
  Codes out;
  for (int i = 0; i < n; ++i) out.push_back(b[positions[i]]);
  return out;
}

/// Executes mma.sp.
template <class Word>
void sparse_mma(const Instruction& how, MmaRegisters<Word>& x) {
  const int bits = element_bits(how.types.a);
  const int half = how.k / 2;
  const CuteSparse& sparse = sparse_of(how.k, bits);
  const Codes a = matrix_of(gathered(x.a), atom_of(16, half, bits).a, 16, half, how.types.a);
  const Codes b = matrix_of(gathered(x.b), sparse.b, 8, how.k, how.types.b);
  const std::vector<int> positions = kept_positions(simt::warp_gather(x.metadata), sparse);
  const int lane = static_cast<int>(threadIdx.x % 32);
  compute_d(x, cute_c, lane, 16, 4, how.types, [&](int i, int j, std::uint64_t c) {
    const Codes kept_b = picked(row_of(b, j, how.k), positions.data() + i * half, half);
    return dense_dot(how.model, how.types, row_of(a, i, half), kept_b.data(), half, c);
  });
}

/// The bytes of a word, the lowest first.
using ScaleBytes = std::array<std::uint8_t, 4>;
inline ScaleBytes bytes_of(std::uint32_t word) {
  ScaleBytes out{};
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<std::uint8_t>(word >> (8 * i));
  return out;
}

/// Executes mma with scales of blocks: those of row i of a are in lane 4 (i mod 8) + i / 8, those
/// of column j of b in lane 4 j.
template <class Word>
void scaled_mma(const Instruction& how, MmaRegisters<Word>& x) {
  const CuteAtom& atom = atom_of(how.m, how.k, element_bits(how.types.a, how.kind));
  const Codes a = matrix_of(gathered(x.a), atom.a, how.m, how.k, how.types.a, how.kind);
  const Codes b = matrix_of(gathered(x.b), atom.b, 8, how.k, how.types.b, how.kind);
  const auto scales_a = simt::warp_gather(x.scales_a), scales_b = simt::warp_gather(x.scales_b);
  const int lane = static_cast<int>(threadIdx.x % 32);
  compute_d(x, cute_c, lane, how.m, how.m / 4, how.types, [&](int i, int j, std::uint64_t c) {
    const ScaleBytes of_a = bytes_of(scales_a[static_cast<std::size_t>(4 * (i % 8) + i / 8)]);
    const ScaleBytes of_b = bytes_of(scales_b[static_cast<std::size_t>(4 * j)]);
    return dot(how.model, how.types, row_of(a, i, how.k), row_of(b, j, how.k), how.k, c, NoTrace{},
               {of_a.data(), of_b.data()});
  });
}

/// Executes the instruction under test on the registers of this lane's warp; every lane must call
/// it.
template <class Word>
bool stand_in_mma(MmaRegisters<Word>& x) {
  const Instruction& how = instruction_under_test;
  if (how.m == 8 && how.types.a == binary16) {
    quadpair_mma(how, x);
    return true;
  }
  if (how.model.sparse_group != 0) {
    sparse_mma(how, x);
    return true;
  }
  if (is_scaled(how.model)) {
    scaled_mma(how, x);
    return true;
  }
  const CuteAtom& atom = atom_of(how.m, how.k, element_bits(how.types.a));
  const Codes a = matrix_of(gathered(x.a), atom.a, how.m, how.k, how.types.a);
  const Codes b = matrix_of(gathered(x.b), atom.b, 8, how.k, how.types.b);
  const CuteLayout& c = how.m == 8 ? cute_c8 : cute_c;
  const int lane = static_cast<int>(threadIdx.x % 32);
  compute_d(x, c, lane, how.m, how.m / 4, how.types, [&](int i, int j, std::uint64_t c_code) {
    return dot(how.model, how.types, row_of(a, i, how.k), row_of(b, j, how.k), how.k, c_code);
  });
  return true;
}

}  // namespace binade::test
