// SPDX-License-Identifier: Apache-2.0
//
// The fragments of Tensor Core instructions a second time, as CuTe states them: a thread and the
// number of a value in its registers give, by strides, an offset in the matrix, rows fastest. Facts of
// cute/atom/mma_traits_sm70.hpp, _sm80, _sm90, _sm90_gmma, _sm90_gmma_sparse and _sm120_sparse.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

namespace binade::test {

/// (shape, stride) of each mode, the fastest first.
using Modes = std::vector<std::pair<int, int>>;

constexpr int offset_of(const Modes& modes, int index) {
  int out = 0;
  for (const auto& [shape, stride] : modes) {
    out += index % shape * stride;
    index /= shape;
  }
  return out;
}

struct CuteLayout {
  Modes thread, value;

  int operator()(int t, int v) const { return offset_of(thread, t) + offset_of(value, v); }
};

struct CuteAtom {
  int m, k, bits;  ///< of an element of a
  CuteLayout a, b;
};

// clang-format off
/// m16n8 and m8n8 by their k and the width of their elements.
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
/// b of sparse instructions, whose k is twice that of the kept a.
struct CuteSparse {
  int k, bits;
  CuteLayout b;
  /// Metadata of elements of a, one value an element: f16 and FP8 have one bit of 32 for each, tf32
  /// two. A stride of 0 is of threads whose metadata are not read.
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
/// c and d: 16 × 8, 8 × 8 (f64), the quadpairs' 8 × 8 in 32 and in 16 bits, wgmma's 64 × 8.
inline const CuteLayout cute_c{{{4, 32}, {8, 1}}, {{2, 16}, {2, 8}}};
inline const CuteLayout cute_c8{{{4, 16}, {8, 1}}, {{2, 8}}};
inline const CuteLayout cute_quadpair{{{4, 1}, {2, 16}}, {{1, 0}}};  ///< lane of (thread of 8, –)
inline const CuteLayout cute_quadpair_ab{{{8, 1}}, {{4, 8}}};
inline const CuteLayout cute_quadpair_c32{{{2, 1}, {2, 16}, {2, 4}}, {{2, 8}, {2, 2}, {2, 32}}};
inline const CuteLayout cute_quadpair_c16{{{8, 1}}, {{8, 8}}};
inline const CuteLayout cute_wgmma_c{{{4, 128}, {8, 1}, {4, 16}}, {{2, 64}, {2, 8}}};
// clang-format on

}  // namespace binade::test
