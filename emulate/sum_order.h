// SPDX-License-Identifier: Apache-2.0
//
// The order of a sum as a walk: which products an instruction takes, and what is added when. Code
// that evaluates, explains or compiles a sum is a visitor of this walk, which is a program for a
// stack of accumulators. K = 64 products in four parts, by an instruction of k = 16, reduced by
// pairs:
//
//                  add                     push_zero, products 0-15,  convert
//               /       \                  push_zero, products 16-31, convert, add
//          add             add             push_zero, products 32-47, convert
//         /   \           /   \            push_zero, products 48-63, convert, add, add
//      0-15   16-31   32-47   48-63
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/gemm_model.h"
#include "emulate/places.h"
#include "emulate/stream_k.h"
#include "emulate/trace.h"

namespace binade {

/// The most accumulators that a walk of K up to 2^30 has on the stack at once.
inline constexpr int most_accumulators = 64;

/// The operations on the stack, which walk_sum defines.
enum class StepKind : std::uint8_t { push_zero, push_c, products, add, add_scaled, convert };

/// A step of a sum, for visitors that record the walk. Members that a kind does not have are not
/// used.
struct SumStep {
  StepKind kind;
  Format format;  ///< for all but products: the result's
  Role role;      ///< for add, convert
  /// For products: number of the first one in the walk, padding counted; for add_scaled: number of
  /// the run of K whose scales multiply.
  std::size_t first;
  int instructions;  ///< for products: instructions in a row on one accumulator
};

namespace detail {

/// Returns how many instructions a chain of some products has: whole groups of its KOrder.
constexpr int instruction_count(const GemmModel& g, int products) {
  const int whole = g.k * g.sum.order.group;
  return (products + whole - 1) / whole * g.sum.order.group;
}

/// The walk over the parts of K. Each function leaves one more accumulator on the visitor's stack,
/// unless its comment says otherwise.
template <class Visitor>
struct SumWalk {
  const GemmModel& g;
  Visitor& visit;

  /// Visits instructions number first to first + n - 1 of a chain, on the accumulator on top of the
  /// stack.
  constexpr void instructions(const Places& places, int first, int n) const {
    const KOrder& order = g.sum.order;
    const int all = instruction_count(places.count);
    for (int i = first; i < first + n; ++i) {
      const bool exchanged = order.second_first && n > 1 && i < first + 2;
      const int number = exchanged ? 2 * first + 1 - i : i;
      visit.products(
          InstructionPlaces{&places, order, g.k, order.descending ? all - 1 - number : number});
    }
  }
  constexpr int instruction_count(int products) const {
    return detail::instruction_count(g, products);
  }
  /// Pushes the accumulator with which a chain begins: C if `with_c`, else +0.
  constexpr void start(bool with_c, const Format& f) const {
    with_c ? visit.push_c(f) : visit.push_zero(f);
  }
  /// Returns how many of the instructions that are left run before the next promotion.
  constexpr int until_promotion(int left) const {
    const int every = g.sum.promote_every, unit = g.sum.promote_halves;
    if (left <= every) return left;
    if (unit == 0 || left - every >= every) return every;
    const int half = left / 2 + (unit - left / 2 % unit) % unit;
    return half < left ? half : left;
  }
  /// Adds the products at `places` to the accumulator on top of the stack, with promotion if the
  /// model has it.
  constexpr void go_on(const Places& places) const {
    const int n = instruction_count(places.count);
    if (g.sum.promote_every == 0) return instructions(places, 0, n);
    for (int first = 0, size = 0; first < n; first += size) {
      size = until_promotion(n - first);
      visit.push_zero(g.types.d);
      instructions(places, first, size);
      if (g.sum.scaling.share == 0) {
        visit.add(g.sum.promotion, Role::promote);
      } else {
        visit.add_scaled(g.sum.promotion, run_of_scales(places, first, n));
      }
    }
  }
  /// Returns the number of the run of K in which the products of instruction number `at` of n lie.
  constexpr int run_of_scales(const Places& places, int at, int n) const {
    const KOrder& order = g.sum.order;
    const InstructionPlaces mine{&places, order, g.k, order.descending ? n - 1 - at : at};
    for (int i = 0; i < g.k; ++i) {
      if (mine(i) >= 0) return mine(i) / g.sum.scaling.share;
    }
    return 0;
  }
  /// Rounds each product at `places` and adds it in format f to the accumulator on top of the
  /// stack.
  constexpr void mul_add(const Places& places, const Format& f) const {
    for (int i = 0; i < places.count; ++i) {
      const Places one = places.run(i, 1);
      visit.push_zero(g.types.d);
      visit.products(InstructionPlaces{&one, {}, g.k, 0});
      visit.add(f, Role::promote);
    }
  }
  /// Sums the products at `places` in one chain of instructions.
  constexpr void chain(const Places& places, bool with_c) const {
    start(with_c, g.sum.promote_every == 0 ? g.types.d : g.sum.promotion);
    go_on(places);
  }

  static constexpr int within(std::int64_t end, int units) {
    return end < units ? static_cast<int>(end) : units;
  }
  /// Returns the number of the tile or instruction with which a run begins, of `units` in all.
  static constexpr int begin_of(const Split& split, int units, int number) {
    switch (split.shares) {
      case TileShares::full: {
        const int share = (units + split.parts - 1) / split.parts;
        return share != 0 && number > units / share ? units : share * number;
      }
      case TileShares::balanced: {
        const int longer = units % split.parts;
        return units / split.parts * number + (number < longer ? number : longer);
      }
      case TileShares::rest: return number == split.parts ? units : units / split.parts * number;
      case TileShares::spread:
        return static_cast<int>(static_cast<std::int64_t>(units) * number / split.parts);
      case TileShares::listed: {
        if (number == 0 || number == split.parts) return number == 0 ? 0 : units;
        return within(split.ends[static_cast<std::size_t>(number - 1)], units);
      }
      case TileShares::steps: {
        if (number == 0 || number == split.parts) return number == 0 ? 0 : units;
        const std::int64_t i = number - 1;
        const std::int64_t longer = split.ends[2];
        return within(split.ends[0] + i * split.ends[1] + (i < longer ? i : longer), units);
      }
      case TileShares::stream: break;  // model_of_tile makes it one of the others
    }
    return 0;
  }
  /// Returns the positions of a part that is one run.
  constexpr Places run_of(const Places& places, const Split& split, int number) const {
    const int unit = split.tile == 0 ? g.k : split.tile;
    const int whole = places.count / unit;
    const int padded =
        split.tile == 0 ? instruction_count(places.count) : (places.count + unit - 1) / unit;
    const int units = split.shares == TileShares::rest ? whole : padded;
    const auto place = [&](int at) {
      const int begin = begin_of(split, units, at);
      const bool is_end = begin > whole || (at == split.parts && split.shares == TileShares::rest);
      return is_end ? places.count : begin * unit;
    };
    const int first = place(number);
    return places.run(first, place(number + 1) - first);
  }
  /// Sums p0, p1, … of a division of K: part number `number`, counted from Split::first on.
  constexpr void part(const Places& places, int level, int number) const {
    const Split& split = g.sum.splits[level];
    number = (number + split.first) % split.parts;
    if (split.interleave != 0) {
      const Places mine =
          split.short_first
              ? places.short_first(split.interleave, split.parts, number)
              : places.interleaved(split.interleave, split.parts, number, split.backward);
      return sum(mine, level + 1, false);
    }
    const Places run = run_of(places, split, number);
    const bool again = split.until != 0 && run.count < places.count;
    sum(run, again ? level : level + 1, false);
  }
  /// Sums a part as one that is added to others.
  constexpr void leaf(const Places& places, int level, int number) const {
    part(places, level, number);
    visit.convert(g.sum.partial, Role::reduce);
  }
  /// Returns how many products a round over the parts has, of which none remains.
  constexpr int round(int level) const {
    std::int64_t out = 1;
    const bool with_inner = g.sum.splits[level].tail_first || g.sum.splits[level].tail_mul_add;
    for (int at = level; at < 3; ++at) {
      const Split& split = g.sum.splits[at];
      if (at > level && (!with_inner || split.parts <= 1 || split.short_first)) break;
      if (split.interleave == 0) break;
      out *= std::int64_t{split.parts} * split.interleave;
      if (out > 1 << 30) return 1 << 30;
    }
    return static_cast<int>(out);
  }
  /// Sums the products that remain by themselves, as what a sum of parts begins with.
  constexpr void tail_part(const Places& places) const {
    chain(places, false);
    visit.convert(g.sum.partial, Role::reduce);
    if (g.sum.reduced) visit.convert(*g.sum.reduced, Role::reduce);
  }
  constexpr void add() const { visit.add(g.sum.format_of_sums(), Role::reduce); }
  /// Sums n parts, number first, first + stride, …, as a tree (pairs, halves, bisect).
  constexpr void tree(const Places& places, int level, int first, int stride, int n) const {
    if (n == 1) return leaf(places, level, first);
    const Reduction reduction = g.sum.splits[level].reduction;
    if (reduction == Reduction::halves) {
      tree(places, level, first, 2 * stride, (n + 1) / 2);
      tree(places, level, first + stride, 2 * stride, n / 2);
    } else {
      int left = reduction == Reduction::bisect ? n / 2 : 1;
      while (reduction == Reduction::pairs && 2 * left < n) left *= 2;
      tree(places, level, first, stride, left);
      tree(places, level, first + left * stride, stride, n - left);
    }
    add();
  }
  /// Sums what part `number` holds after `rounds` rounds of Reduction::fold.
  constexpr void fold(const Places& places, int level, int number, int rounds) const {
    if (rounds == 0) return leaf(places, level, number);
    int before = g.sum.splits[level].parts;
    for (int i = 1; i < rounds; ++i) before = (before + 1) / 2;
    const int left = (before + 1) / 2;
    fold(places, level, number, rounds - 1);
    if (number + left >= before) return;
    fold(places, level, number + left, rounds - 1);
    add();
  }
  /// Sums all parts by Reduction::pairwise.
  constexpr void pairwise(const Places& places, int level) const {
    const int last = g.sum.splits[level].parts - 1;
    const int left = (last + 2) / 2;
    leaf(places, level, last);
    for (int i = 0; i < left && i < last; ++i) {
      leaf(places, level, i);
      if (i + left < last) {
        leaf(places, level, i + left);
        add();
      }
      add();
    }
  }
  /// Sums all parts in a tree.
  constexpr void as_tree(const Places& places, int level) const {
    const Split& split = g.sum.splits[level];
    if (split.reduction == Reduction::pairwise) return pairwise(places, level);
    if (split.reduction != Reduction::fold) return tree(places, level, 0, 1, split.parts);
    int rounds = 0;
    for (int n = split.parts; n > 1; n = (n + 1) / 2) ++rounds;
    fold(places, level, 0, rounds);
  }
  /// Sums all parts one after the other, beginning with the accumulator on top of the stack if
  /// there is one.
  constexpr void one_after_the_other(const Places& places, int level, bool begun) const {
    const Split& split = g.sum.splits[level];
    for (int i = 0; i < split.parts; ++i) {
      const bool descends = split.reduction == Reduction::descending;
      leaf(places, level,
           descends                               ? split.parts - 1 - i
           : split.reduction == Reduction::listed ? split.order[static_cast<std::size_t>(i)]
                                                  : i);
      if (i > 0 || begun) {
        add();
      } else if (g.sum.reduced) {
        visit.convert(*g.sum.reduced, Role::reduce);
      }
    }
  }
  /// Sums the products at `places`, divided into parts from a level of Accumulation::splits on.
  constexpr void sum(const Places& places, int level, bool with_c) const {
    if (level == 3 || g.sum.splits[level].parts <= 1) return chain(places, with_c);
    const Split& split = g.sum.splits[level];
    if (split.until != 0 && places.count <= split.until) return sum(places, level + 1, with_c);
    const bool has_tail = (split.tail_after || split.tail_first) && split.interleave != 0;
    const int whole = has_tail ? places.count / round(level) * round(level) : places.count;
    const Places shared = places.run(0, whole);
    const Places tail = places.run(whole, places.count - whole);
    const bool tail_first = split.tail_first && !split.tail_mul_add && tail.count != 0;
    if (in_turn(split.reduction)) {
      if (with_c) visit.push_c(g.sum.format_of_sums());
      if (tail_first) {
        tail_part(tail);
        if (with_c) add();
      }
      one_after_the_other(shared, level, with_c || tail_first);
    } else {
      as_tree(shared, level);
      if (tail_first) {
        tail_part(tail);
        add();
      }
      if (with_c) {
        visit.push_c(g.sum.format_of_sums());
        add();
      }
    }
    if (tail_first || tail.count == 0) return;
    if (!split.tail_mul_add) return go_on(tail);
    const Format& f = *split.tail_mul_add;
    if (split.tail_first) visit.push_zero(f);
    mul_add(tail, f);
    if (split.tail_first) visit.add(f, Role::reduce);
  }
};

}  // namespace detail

/// Returns the model by which an element at this place is summed, which depends on no place: the
/// model itself, unless K is cut elsewhere in each tile of D.
constexpr GemmModel model_of_tile(GemmModel g, int k, const ElementPlace& place) {
  if (!is_streamed(g)) return g;
  auto& splits = g.sum.splits;
  const int tile = splits[0].tile;
  const int iterations = tile == 0 ? detail::instruction_count(g, k) : (k + tile - 1) / tile;
  splits[0] = split_of_tile(splits[0], iterations, place);
  if (splits[0].parts > 1) return g;
  splits[0] = splits[1];
  splits[1] = splits[2];
  splits[2] = {};
  return g;
}

/// Calls the visitor with the sum of k products of the element at a place of D as operations on a
/// stack, in their order:
///
///     visit.push_zero(format)              pushes +0
///     visit.push_c(format)                 pushes C
///     visit.products(InstructionPlaces)    adds products to the accumulator on top
///     visit.add(format, role)              replaces the two accumulators on top by their sum
///     visit.add_scaled(format, run)        the same, the top one times the scales of a run of K
///     visit.convert(format, role)          converts the accumulator on top
template <class Visitor>
constexpr void walk_sum(const GemmModel& g, int k, const ElementPlace& place, Visitor& visit) {
  Places all;
  all.count = k;
  if (!is_streamed(g)) return detail::SumWalk<Visitor>{g, visit}.sum(all, 0, g.sum.c_first);
  const GemmModel here = model_of_tile(g, k, place);
  detail::SumWalk<Visitor>{here, visit}.sum(all, 0, g.sum.c_first);
}

}  // namespace binade
