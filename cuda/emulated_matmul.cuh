// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the kernels that compute a Matmul as `matmul` does, bit for bit. A thread has 4 × 4
// elements; per block of products it looks for the largest exponent, then adds the products cut to it.
// `shift(x, n)`: x >> n for any n >= 0, which is one instruction on the device and not in C++.
#pragma once

#include "cuda/matmul_plan.h"
#include "cuda/shared_dot.cuh"
#include "cuda/unroll.h"

namespace binade {

/// Where the factors lie: place · rows + row; a's significands shifted up by plan.up.
struct MatmulFactors {
  std::int32_t* a_significand = nullptr;
  std::int32_t* a_exponent = nullptr;
  std::int32_t* b_significand = nullptr;
  std::int32_t* b_exponent = nullptr;
  unsigned* special_rows = nullptr;  ///< not 0: it has a NaN or an infinity; rows, then columns
};

/// An element between two blocks: ±magnitude · 2^(exponent - plan.fraction_bits), bit 31 the sign.
struct TileSum {
  std::uint32_t word = 0;
  std::int32_t exponent = fast::Factor{}.exponent;  ///< of zeros: far below every floor
};

/// Codes as in Matmul, results there too; sums on the way; `left`: not 0 where an element is for `dot`.
struct MatmulArrays {
  const std::uint64_t* a = nullptr;
  const std::uint64_t* b = nullptr;
  const std::uint64_t* c = nullptr;
  std::uint64_t* d = nullptr;
  TileSum* sums = nullptr;
  unsigned char* left = nullptr;
};

/// A thread an operand of a (of b): blockIdx.y and a place of k, zeros where there is none.
__device__ inline void predecode_body(const MatmulPlan& plan, const MatmulArrays& arrays,
                                      const MatmulFactors& out, bool of_b) {
  const Matmul& x = plan.matmul;
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int i = static_cast<int>(blockIdx.y);
  if (row >= (of_b ? x.n : x.m)) return;
  const int at = x.model.recipe == Recipe::expanded ? expanded_index(i, x.k) : i;
  const std::uint64_t code = (of_b ? arrays.b : arrays.a)[std::size_t(row) * x.k + at];
  fast::Factor factor;
  const bool finite = fast::predecode_one(x.model, of_b ? x.types.b : x.types.a, code, factor);
  if (!finite) out.special_rows[of_b ? x.m + row : row] = 1;
  const std::size_t to = std::size_t(plan.place(i)) * (of_b ? plan.columns : plan.rows) + row;
  (of_b ? out.b_significand : out.a_significand)[to] =
      factor.significand * (of_b ? 1 : 1 << plan.up);
  (of_b ? out.b_exponent : out.a_exponent)[to] = factor.exponent;
}

namespace detail {

constexpr TileSum tile_sum(std::uint64_t bits, const Format& f, int fraction_bits) {
  const Addend x = addend_of(bits, f);
  const std::uint32_t sign = x.negative ? 0x80000000 : 0;
  if (x.kind != Kind::finite) return {sign};
  return {sign | static_cast<std::uint32_t>(x.significand) << (fraction_bits - x.fraction_bits),
          x.exponent};
}

/// Below the largest finite number.
constexpr std::uint64_t bits_of(const TileSum& x, const Format& d, int fraction_bits) {
  const std::uint64_t sign = std::uint64_t{x.word >> 31} << (d.bits() - 1);
  const std::uint32_t magnitude = (x.word & 0x7FFFFFFF) >> (fraction_bits - d.fraction_bits());
  if (magnitude == 0) return sign;
  // A normal number's leading bit adds one to the field, a subnormal's field stays 0.
  const auto field = static_cast<std::uint64_t>(x.exponent + d.bias - 1);
  return sign | ((field << d.fraction_bits()) + magnitude);
}

/// The block's exact sum in units of 2^(top - F), rounded. False: it leaves the range.
template <bool nearest, bool wide, class Shift>
__device__ bool round_tile_sum(const MatmulPlan& plan, std::int64_t sum, int top,
                               const Shift& shift, TileSum& out) {
  using Magnitude = std::conditional_t<wide, std::uint64_t, std::uint32_t>;
  constexpr int width = wide ? 64 : 32;
  const Format& g = plan.matmul.model.grid;
  const bool negative = sum < 0;
  const auto magnitude = static_cast<Magnitude>(negative ? -sum : sum);
  if (magnitude == 0) {
    out = {};
    return true;
  }
  const int zeros = leading_zeros(magnitude);
  const Magnitude left = magnitude << zeros;
  const int unbounded = top - plan.matmul.model.fraction_bits + width - 1 - zeros;
  int exponent = unbounded > g.emin() ? unbounded : g.emin();
  const int drop = width - g.precision + (exponent - unbounded);
  auto kept = static_cast<std::uint32_t>(wide ? drop < 64 ? left >> (drop & 63) : Magnitude{0}
                                              : shift(static_cast<std::uint32_t>(left), drop));
  if (nearest) {
    constexpr Magnitude half = Magnitude{1} << (width - 1);
    const Magnitude rest = drop <= width ? left << ((width - drop) & (width - 1)) : Magnitude{0};
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
    if (kept >> g.precision != 0) {
      kept >>= 1;
      exponent += 1;
    }
  }
  const int up = plan.fraction_bits - g.fraction_bits();
  out.word = (negative && kept != 0 ? 0x80000000 : 0) | kept << up;
  out.exponent = kept != 0 ? exponent : fast::Factor{}.exponent;
  return exponent <= g.emax();
}

}  // namespace detail

/// A thread an element: where its sum begins, and whether it is for `dot` from the start.
__device__ inline void begin_body(const MatmulPlan& plan, const MatmulArrays& arrays,
                                  const MatmulFactors& factors) {
  const Matmul& x = plan.matmul;
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= std::size_t(x.m) * x.n) return;
  const Format& f = plan.sums.c;
  const std::uint64_t c =
      x.model.c_last ? zero_bits(f, false) : wide_c(types_of_sums(x.model, x.types), arrays.c[at]);
  const bool left = detail::is_special(c, f) || factors.special_rows[at / x.n] != 0 ||
                    factors.special_rows[x.m + at % x.n] != 0;
  arrays.sums[at] = detail::tile_sum(c, f, plan.fraction_bits);
  arrays.left[at] = left ? 1 : 0;
}

/// blockIdx.x, .y: the tile's column and row. Elements that it cannot do it leaves.
template <int block, bool nearest, bool wide, class Shift>
__device__ void emulated_tile_body(const MatmulPlan& plan, const MatmulArrays& arrays,
                                   const MatmulFactors& factors, const Shift& shift) {
  __shared__ int4 shared[4][tile_stage][tile / 4];  // a's and b's significands, then exponents
  const int thread = static_cast<int>(threadIdx.x);
  const int a_at = thread / 16;
  const int b_at = thread % 16;
  const int first_row = static_cast<int>(blockIdx.y) * tile;
  const int first_column = static_cast<int>(blockIdx.x) * tile;
  const Matmul& x = plan.matmul;
  const int row = first_row + 4 * a_at;
  const int column = first_column + 4 * b_at;
  TileSum sums[4][4];
  unsigned left = 0;  // a bit an element
  const auto each = [](const auto& f) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) f(i, j);
    }
  };
  const auto place_of = [&](int i, int j) { return std::size_t(row + i) * x.n + column + j; };
  const auto inside = [&](int i, int j) { return row + i < x.m && column + j < x.n; };
  each([&](int i, int j) {
    if (inside(i, j)) sums[i][j] = arrays.sums[place_of(i, j)];
  });
  const auto four = [&](int which, int k, int at, int(&out)[4]) {
    const int4 v = shared[which][k][at];
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
    out[3] = v.w;
  };
  for (int stage = 0; stage < plan.blocks * block; stage += tile_stage) {
    __syncthreads();
    for (int i = thread; i < 4 * tile_stage * tile / 4; i += tile_threads) {
      const int which = i / (tile_stage * tile / 4);
      const int k = i / (tile / 4) % tile_stage;
      const std::int32_t* from = which == 0   ? factors.a_significand
                                 : which == 1 ? factors.b_significand
                                 : which == 2 ? factors.a_exponent
                                              : factors.b_exponent;
      const std::size_t pitch = which % 2 == 0 ? plan.rows : plan.columns;
      const int begin = which % 2 == 0 ? first_row : first_column;
      shared[which][k][i % (tile / 4)] =
          reinterpret_cast<const int4*>(from + (stage + k) * pitch + begin)[i % (tile / 4)];
    }
    __syncthreads();
    for (int first = 0; first < tile_stage && stage + first < plan.blocks * block; first += block) {
      int top[4][4];
      each([&](int i, int j) {
        const int e = sums[i][j].exponent;
        top[i][j] = e > x.model.exponent_floor ? e : x.model.exponent_floor;
      });
      BINADE_UNROLL
      for (int t = 0; t < block; ++t) {
        const int k = first + t;
        int a[4], b[4];
        four(2, k, a_at, a);
        four(3, k, b_at, b);
        each([&](int i, int j) { top[i][j] = a[i] + b[j] > top[i][j] ? a[i] + b[j] : top[i][j]; });
      }
      std::conditional_t<wide, std::int64_t, std::int32_t> sum[4][4] = {};
      for (int k = first; k < first + block; ++k) {
        int a[4], b[4], a_exponent[4], b_exponent[4];
        four(0, k, a_at, a);
        four(1, k, b_at, b);
        four(2, k, a_at, a_exponent);
        four(3, k, b_at, b_exponent);
        each([&](int i, int j) {
          // Toward zero by an arithmetic shift: with s = -1 for negative products, 0 for others,
          // the product cut is ((product + s) >> n) - s.
          const int product = a[i] * b[j];
          const int s = product >> 31;
          sum[i][j] += shift(product + s, top[i][j] - a_exponent[i] - b_exponent[j]) - s;
        });
      }
      each([&](int i, int j) {
        const TileSum& c = sums[i][j];
        const std::uint32_t magnitude = (c.word & 0x7FFFFFFF) << plan.c_left;
        const auto cut =
            static_cast<std::int32_t>(shift(magnitude, top[i][j] - c.exponent + plan.c_right));
        const std::int64_t all = std::int64_t{sum[i][j]} + (c.word >> 31 != 0 ? -cut : cut);
        const bool in_range =
            detail::round_tile_sum<nearest, wide>(plan, all, top[i][j], shift, sums[i][j]);
        if (!in_range) left |= 1U << (4 * i + j);
      });
    }
  }
  each([&](int i, int j) {
    if (!inside(i, j)) return;
    arrays.sums[place_of(i, j)] = sums[i][j];
    if ((left >> (4 * i + j) & 1) != 0) arrays.left[place_of(i, j)] = 1;
  });
}

/// A thread an element: what the tiles did is finished, what they left, or all, is for `dot`.
__device__ inline void finish_body(const MatmulPlan& plan, const MatmulArrays& arrays) {
  const Matmul& x = plan.matmul;
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= std::size_t(x.m) * x.n) return;
  if (plan.tiled && arrays.left[at] == 0) {
    const std::uint64_t sum = detail::bits_of(arrays.sums[at], plan.sums.d, plan.fraction_bits);
    arrays.d[at] = finished(x.model, x.types, sum, arrays.c[at]);
  } else {
    const std::size_t k = x.k;
    arrays.d[at] = shared_dot(x.model, x.types, arrays.a + at / x.n * k, arrays.b + at % x.n * k,
                              x.k, arrays.c[at]);
  }
}

}  // namespace binade
