// SPDX-License-Identifier: Apache-2.0
//
// Tables of vector registers and unrolled loops, and what each library does with them. What comes
// to the same at some K is made now and then; the search recognises it (meaning.h).
#include "lib/identify/library_loops.h"

#include <array>
#include <utility>

namespace binade {
namespace {

constexpr std::array vector_lanes{2, 4, 8, 16, 32, 64};
constexpr std::array accumulators{2, 4, 8};
constexpr std::array lane_orders{Reduction::ascending, Reduction::pairs, Reduction::halves};
constexpr std::array vector_orders{Reduction::ascending, Reduction::pairs};
/// Vectors after which the accumulator of a lane is added to a register (torch.sum).
constexpr std::array vectors_per_promotion{0, 16, 32, 64};
/// NumPy's einsum takes the vectors of its unrolled loop from the last to the first.
constexpr int einsum_unrolled = 4;
/// OpenBLAS halves the last two of its blocks of K, which are multiples of block_step, and rounds
/// the first one up to the rows of its kernels (driver/level3/level3.c).
constexpr int block_step = 32, most_block = 1024;
constexpr std::array kernel_rows{16, 8, 4};
constexpr std::array gemv_columns{4, 8};
constexpr int most_gemv_parts = 4096;

class LibraryLoops {
 public:
  LibraryLoops(const GemmModel& plain, int k) : plain_(plain), k_(k) {
    numpy_sum();
    for (const int width : vector_lanes) {
      for (const Reduction lane_order : lane_orders) {
        const Split of_lanes{.parts = width, .interleave = 1, .reduction = lane_order};
        einsum(of_lanes);
        for (const int n : accumulators) {
          for (const Reduction vector_order : vector_orders) {
            const Split vectors{.parts = n, .interleave = 1, .reduction = vector_order};
            torch_sum(of_lanes, vectors);
            dot(of_lanes, vectors);
            short_turns(of_lanes, vectors);
          }
        }
      }
    }
    columns();
    blocks();
  }

  std::vector<Order> take() { return std::move(orders_); }

 private:
  void add(const Split& outer, const Split& inner, int promote_every = 0) {
    Accumulation sum = plain_.sum;
    sum.splits[0] = outer;
    sum.splits[1] = inner;
    promote(sum, promote_every);
    orders_.push_back({sum, 5 + (promote_every == 0 ? 0 : 1)});
  }
  /// Promotes the accumulators of a sum to the register that promotion usually has.
  void promote(Accumulation& sum, int every) const {
    sum.promote_every = every;
    if (every != 0 && plain_.types.d == binary64) sum.promotion = binary64;
  }

  /// Adds NumPy's pairwise sum of any length.
  void numpy_sum() {
    add({.parts = 2, .tile = 8, .shares = TileShares::rest, .until = 128},
        {.parts = 8, .interleave = 1, .reduction = Reduction::pairs, .tail_after = true});
  }
  void einsum(Split of_lanes) {
    of_lanes.backward = einsum_unrolled;
    if (of_lanes.parts * einsum_unrolled <= k_) add(of_lanes, {});
  }
  /// Adds lanes of vectors whose accumulators are promoted or begin with what remains of K.
  void torch_sum(Split of_lanes, Split vectors) {
    const int round = of_lanes.parts * vectors.parts;
    const bool has_tail = k_ % round != 0;
    if (round > k_) return;
    for (const int every : vectors_per_promotion) {
      if (every * round >= k_) break;
      if (every != 0) add(of_lanes, vectors, every);
      Split first = of_lanes;
      first.tail_first = true;
      if (has_tail) add(first, vectors, every);
    }
    vectors.interleave = of_lanes.parts;
    vectors.tail_first = true;
    if (has_tail) add(vectors, of_lanes);
  }
  /// Adds lanes of vectors with what remains of K added product by product: OpenBLAS's ddot adds
  /// each to the sum, its sdot their own sum in binary64.
  void dot(Split of_lanes, const Split& vectors) {
    if (k_ % (of_lanes.parts * vectors.parts) == 0) return;
    of_lanes.tail_mul_add = plain_.types.d;
    of_lanes.tail_after = true;
    add(of_lanes, vectors);
    if (plain_.types.d != binary32) return;
    of_lanes.tail_mul_add = binary64;
    std::swap(of_lanes.tail_after, of_lanes.tail_first);
    add(of_lanes, vectors);
  }
  /// Adds OpenBLAS's gemv of a matrix by columns: four or eight at a time, even and odd ones apart
  /// or as the compiler contracted their sum.
  void columns() {
    for (const int columns : gemv_columns) {
      const int parts = (k_ + columns - 1) / columns;
      if (parts < 2 || parts > most_gemv_parts) continue;
      add({.parts = parts, .tile = columns}, {.parts = 2, .interleave = 1});
      Accumulation contracted = plain_.sum;
      contracted.order.second_first = true;
      promote(contracted, columns);
      orders_.push_back({contracted, 3});
    }
  }
  /// Adds OpenBLAS's sgemv of a matrix by rows: lanes of vectors that are taken in turns, where
  /// what is no whole turn comes first. Its cores add what is no whole vector in different ways.
  void short_turns(Split of_lanes, Split vectors) {
    vectors.short_first = k_ / of_lanes.parts % vectors.parts != 0;
    if (k_ % of_lanes.parts == 0) {
      if (vectors.short_first) add(of_lanes, vectors);
      return;
    }
    Split after = of_lanes, by_products = of_lanes;
    after.tail_after = true;
    by_products.tail_first = true;
    by_products.tail_mul_add = plain_.types.d;
    add(by_products, vectors);
    if (!vectors.short_first) return;
    add(after, vectors);
    of_lanes.tail_first = true;
    add(of_lanes, vectors);
  }
  void blocks() {
    Accumulation sum = plain_.sum;
    for (int every = block_step; every <= most_block && every < k_; every += block_step) {
      promote(sum, every);
      for (const int rows : kernel_rows) {
        sum.promote_halves = rows;
        orders_.push_back({sum, 2});
      }
    }
  }

  const GemmModel& plain_;
  int k_;
  std::vector<Order> orders_;
};

}  // namespace

std::vector<Order> library_loops(const GemmModel& plain, int k) {
  return LibraryLoops(plain, k).take();
}

}  // namespace binade
