// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the kernels that compute the elements of a Matmul, each the `dot` of emulate/dot.h
// bit for bit. If the plan is tiled, four kernels run one after the other, else only the last: they
// decode the operands, begin the sums, add blocks of products (emulate/fast/tile_sums.h), and
// finish the sums. A thread of the third has 4 × 4 elements; for each block it finds the largest
// exponent and then adds the products cut to it. Elements that the third cannot compute are marked
// in `left` and computed by `dot` in the last. `shift(x, n)` returns x >> n for any n >= 0, which
// is one instruction on the device and undefined in C++ for n >= 32.
#pragma once

#include "cuda/matmul_plan.h"
#include "cuda/shared_dot.cuh"
#include "cuda/unroll.h"

namespace binade {

/// The decoded operands, in the device's memory. The factor at a place of k and a row of a (or
/// column of b) has index place · plan.rows + row (or place · plan.columns + column). Significands
/// of a are shifted left by rules.up.
struct MatmulFactors {
  std::int32_t* a_significand = nullptr;
  std::int32_t* a_exponent = nullptr;
  std::int32_t* b_significand = nullptr;
  std::int32_t* b_exponent = nullptr;
  /// m words for the rows of a, then n for the columns of b; not 0 if it has a NaN or an infinity.
  unsigned* special_rows = nullptr;
};

/// The arrays of a product, in the device's memory: a, b, c and d laid out as Matmul says; per
/// element the sum so far, and in `left` a byte that is not 0 if `dot` must compute the element.
struct MatmulArrays {
  const std::uint64_t* a = nullptr;
  const std::uint64_t* b = nullptr;
  const std::uint64_t* c = nullptr;
  std::uint64_t* d = nullptr;
  fast::TileSum* sums = nullptr;
  unsigned char* left = nullptr;
};

/// Decodes one operand of a, or of b if `of_b`, in each thread: product number blockIdx.y of the
/// row or column that the thread's number in x gives. Places without a product keep the decoded
/// zeros (fast::Factor{}) that they hold.
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
      factor.significand * (of_b ? 1 : 1 << plan.rules.up);
  (of_b ? out.b_exponent : out.a_exponent)[to] = factor.exponent;
}

/// Begins the sum of one element in each thread: with c, or with +0 if the model adds c last. Marks
/// the element for `dot` if the c with which the sum begins, a's row or b's column has a NaN or an
/// infinity.
__device__ inline void begin_body(const MatmulPlan& plan, const MatmulArrays& arrays,
                                  const MatmulFactors& factors) {
  const Matmul& x = plan.matmul;
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= std::size_t(x.m) * x.n) return;
  const Format& f = plan.sums.c;
  const std::uint64_t c =
      x.model.c_last ? zero_bits(f, false) : wide_c(types_of_sums(x.model, x.types), arrays.c[at]);
  const bool left = fast::detail::is_special(c, f) || factors.special_rows[at / x.n] != 0 ||
                    factors.special_rows[x.m + at % x.n] != 0;
  arrays.sums[at] = fast::tile_sum(c, f, plan.rules.fraction_bits);
  arrays.left[at] = left ? 1 : 0;
}

/// Adds all blocks of products to the sums of one tile, whose column and row are blockIdx.x and .y.
/// Marks elements whose sum leaves the range in arrays.left. `block` is plan.block; `nearest` says
/// that sums are rounded to nearest, else toward zero; `wide` that the sum of a block needs more
/// than 32 bits.
template <int block, bool nearest, bool wide, class Shift>
__device__ void emulated_tile_body(const MatmulPlan& plan, const MatmulArrays& arrays,
                                   const MatmulFactors& factors, const Shift& shift) {
  __shared__ int4
      shared[4][matmul_stage][matmul_tile / 4];  // a's and b's significands, then exponents
  const int thread = static_cast<int>(threadIdx.x);
  const int a_at = thread / 16;
  const int b_at = thread % 16;
  const int first_row = static_cast<int>(blockIdx.y) * matmul_tile;
  const int first_column = static_cast<int>(blockIdx.x) * matmul_tile;
  const Matmul& x = plan.matmul;
  const int row = first_row + 4 * a_at;
  const int column = first_column + 4 * b_at;
  fast::TileSum sums[4][4];
  unsigned left = 0;  // one bit per element
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
  for (int stage = 0; stage < plan.blocks * block; stage += matmul_stage) {
    __syncthreads();
    for (int i = thread; i < 4 * matmul_stage * matmul_tile / 4; i += matmul_threads) {
      const int which = i / (matmul_stage * matmul_tile / 4);
      const int k = i / (matmul_tile / 4) % matmul_stage;
      const std::int32_t* from = which == 0   ? factors.a_significand
                                 : which == 1 ? factors.b_significand
                                 : which == 2 ? factors.a_exponent
                                              : factors.b_exponent;
      const std::size_t pitch = which % 2 == 0 ? plan.rows : plan.columns;
      const int begin = which % 2 == 0 ? first_row : first_column;
      shared[which][k][i % (matmul_tile / 4)] =
          reinterpret_cast<const int4*>(from + (stage + k) * pitch + begin)[i % (matmul_tile / 4)];
    }
    __syncthreads();
    for (int first = 0; first < matmul_stage && stage + first < plan.blocks * block;
         first += block) {
      int top[4][4];
      each([&](int i, int j) {
        const int e = sums[i][j].exponent;
        top[i][j] = e > plan.rules.floor ? e : plan.rules.floor;
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
          sum[i][j] +=
              fast::cut_product(a[i] * b[j], top[i][j] - a_exponent[i] - b_exponent[j], shift);
        });
      }
      each([&](int i, int j) {
        const std::int64_t all =
            std::int64_t{sum[i][j]} + fast::cut_sum(plan.rules, sums[i][j], top[i][j], shift);
        const bool in_range =
            fast::round_tile_sum<nearest, wide>(plan.rules, all, top[i][j], shift, sums[i][j]);
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

/// Writes one element of d in each thread: the encoding of its sum, or the result of `dot` if the
/// element is marked in arrays.left or the plan has no tiles.
__device__ inline void finish_body(const MatmulPlan& plan, const MatmulArrays& arrays) {
  const Matmul& x = plan.matmul;
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= std::size_t(x.m) * x.n) return;
  if (plan.tiled && arrays.left[at] == 0) {
    const std::uint64_t sum = fast::bits_of(arrays.sums[at], plan.sums.d, plan.rules.fraction_bits);
    arrays.d[at] = finished(x.model, x.types, sum, arrays.c[at]);
  } else {
    const std::size_t k = x.k;
    arrays.d[at] = shared_dot(x.model, x.types, arrays.a + at / x.n * k, arrays.b + at % x.n * k,
                              x.k, arrays.c[at]);
  }
}

}  // namespace binade
