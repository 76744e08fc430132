// SPDX-License-Identifier: Apache-2.0
//
// The layouts of fragments of Tensor Core instructions as NVIDIA's CuTe states them, independent of
// cuda/mma_lanes.h: strides turn the number of a thread and the number of a value in its registers
// into an offset in the matrix, in which rows are fastest. Taken from
// cute/atom/mma_traits_sm70.hpp, _sm80, _sm90, _sm90_gmma, _sm90_gmma_sparse and _sm120_sparse.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

namespace binade::test {

/// (shape, stride) of each mode, the fastest first.
using Modes = std::vector<std::pair<int, int>>;

/// Returns the offset of an index, which counts through the modes, the fastest first.
constexpr int offset_of(const Modes& modes, int index) {
  int out = 0;
  for (const auto& [shape, stride] : modes) {
    out += index % shape * stride;
    index /= shape;
  }
  return out;
}

/// The layout of a matrix: (t, v) gives the offset of value v of thread t.
struct CuteLayout {
  Modes thread, value;

  int operator()(int t, int v) const { return offset_of(thread, t) + offset_of(value, v); }
};

/// The layouts of a and b of a dense instruction.
struct CuteAtom {
  int m, k, bits;  ///< bits of an element of a and b
  CuteLayout a, b;
};

// clang-format off
/// The dense instructions m16n8 and m8n8 of mma.sync, by m, k and the width of elements.
inline const std::vector<CuteAtom> cute_atoms{
    {8, 4, 64, {{{4, 8}, {8, 1}}, {{1, 0}}}, {{{4, 8}, {8, 1}}, {{1, 0}}}},
    {16, 4, 64, {{{4, 16}, {8, 1}}, {{2, 8}}}, {{{4, 8}, {8, 1}}, {{1, 0}}}},
    {16, 8, 64, {{{4, 16}, {8, 1}}, {{2, 8}, {2, 64}}}, {{{4, 8}, {8, 1}}, {{2, 32}}}},
    {16, 16, 64, {{{4, 16}, {8, 1}}, {{2, 8}, {4, 64}}}, {{{4, 8}, {8, 1}}, {{4, 32}}}},
    {16, 4, 32, {{{4, 16}, {8, 1}}, {{2, 8}}}, {{{4, 8}, {8, 1}}, {{1, 0}}}},
    {16, 8, 32, {{{4, 16}, {8, 1}}, {{2, 8}, {2, 64}}}, {{{4, 8}, {8, 1}}, {{2, 32}}}},
    {16, 8, 16, {{{4, 32}, {8, 1}}, {{2, 16}, {2, 8}}}, {{{4, 16}, {8, 1}}, {{2, 8}}}},
    {16, 16, 16, {{{4, 32}, {8, 1}}, {{2, 16}, {2, 8}, {2, 128}}},
     {{{4, 16}, {8, 1}}, {{2, 8}, {2, 64}}}},
    {16, 16, 8, {{{4, 64}, {8, 1}}, {{4, 16}, {2, 8}}}, {{{4, 32}, {8, 1}}, {{4, 8}}}},
    {16, 32, 8, {{{4, 64}, {8, 1}}, {{4, 16}, {2, 8}, {2, 256}}},
     {{{4, 32}, {8, 1}}, {{4, 8}, {2, 128}}}},
    {16, 64, 4, {{{4, 128}, {8, 1}}, {{8, 16}, {2, 8}, {2, 512}}},
     {{{4, 64}, {8, 1}}, {{8, 8}, {2, 256}}}},
    {16, 256, 1, {{{4, 512}, {8, 1}}, {{32, 16}, {2, 8}, {2, 2048}}},
     {{{4, 256}, {8, 1}}, {{32, 8}, {2, 1024}}}},
};
/// The layouts of b and of the metadata of a sparse instruction. Its k counts the zeros of a, too: it is
/// twice that of the kept elements.
struct CuteSparse {
  int k, bits;
  CuteLayout b;
  /// The element of a that each value of a thread's metadata describes: a value is one bit of 32 for
  /// f16 and FP8, two bits for tf32. A stride of 0 belongs to threads whose metadata are not read.
  CuteLayout metadata;
};
inline const std::vector<CuteSparse> cute_sparse{
    {16, 16, {{{4, 16}, {8, 1}}, {{2, 8}, {2, 64}}}, {{{4, 0}, {8, 1}}, {{16, 16}, {2, 8}}}},
    {32, 16, {{{4, 16}, {8, 1}}, {{2, 8}, {4, 64}}},
     {{{2, 256}, {2, 0}, {8, 1}}, {{16, 16}, {2, 8}}}},
    {8, 32, {{{4, 8}, {8, 1}}, {{2, 32}}}, {{{4, 0}, {8, 1}}, {{8, 16}, {2, 8}}}},
    {16, 32, {{{4, 8}, {8, 1}}, {{4, 32}}}, {{{2, 128}, {2, 0}, {8, 1}}, {{8, 16}, {2, 8}}}},
    {64, 8, {{{4, 32}, {8, 1}}, {{4, 8}, {4, 128}}}, {{{2, 8}, {2, 512}, {8, 1}}, {{32, 16}}}},
};
/// The layouts of c and d: 16 × 8, 8 × 8 of f64, 8 × 8 of a quadpair in 32 and in 16 bits, and 64 × 8 of
/// wgmma; beside them the layout of a and b of a quadpair.
inline const CuteLayout cute_c{{{4, 32}, {8, 1}}, {{2, 16}, {2, 8}}};
inline const CuteLayout cute_c8{{{4, 16}, {8, 1}}, {{2, 8}}};
inline const CuteLayout cute_quadpair{{{4, 1}, {2, 16}}, {{1, 0}}};  ///< (t, 0): lane of thread t of 8
inline const CuteLayout cute_quadpair_ab{{{8, 1}}, {{4, 8}}};
inline const CuteLayout cute_quadpair_c32{{{2, 1}, {2, 16}, {2, 4}}, {{2, 8}, {2, 2}, {2, 32}}};
inline const CuteLayout cute_quadpair_c16{{{8, 1}}, {{8, 8}}};
inline const CuteLayout cute_wgmma_c{{{4, 128}, {8, 1}, {4, 16}}, {{2, 64}, {2, 8}}};
// clang-format on

}  // namespace binade::test
