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
#include "emulate/trace.h"

namespace binade {

/// The operations on the stack, which walk_sum defines.
enum class StepKind : std::uint8_t { push_zero, push_c, products, add, convert };

/// A step of a sum, for visitors that record the walk. Members that a kind does not have are not
/// used.
struct SumStep {
  StepKind kind;
  Format format;      ///< for push_zero, push_c, add, convert: the result's
  Role role;          ///< for add, convert
  std::size_t first;  ///< for products: number of the first one in the walk, padding counted
  int instructions;   ///< for products: instructions in a row on one accumulator
};

/// The positions in k of the products of a part: the i-th product is that of position places(i).
/// Nested parts are a sequence of maps ("levels"), of which the last one is applied first. A level
/// maps i to i / width · stride + offset + i % width; interleaved(2, 2, 1) of all k:
///
///     i          0 1 2 3 4 5             width 2, stride 4, offset 2
///     position   2 3 6 7 10 11
struct Places {
  struct Level {
    int width = 1, stride = 1, offset = 0;
  };
  int count = 0;
  int depth = 0;
  Level levels[7]{};

  constexpr int operator()(int i) const {
    for (int at = depth - 1; at >= 0; --at) {
      const Level& x = levels[at];
      i = i / x.width * x.stride + x.offset + i % x.width;
    }
    return i;
  }
  /// Returns `size` of these positions, beginning with number `first`.
  constexpr Places run(int first, int size) const { return narrowed({1 << 30, 0, first}, size); }
  /// Divides these positions into runs of `width` and returns every `parts`-th run, beginning with
  /// run number `part`.
  constexpr Places interleaved(int width, int parts, int part) const {
    const int round = width * parts;
    const int rest = count % round - part * width;
    const int size = count / round * width + (rest < 0 ? 0 : rest < width ? rest : width);
    return narrowed({width, round, part * width}, size);
  }

 private:
  constexpr Places narrowed(const Level& level, int size) const {
    Places out = *this;
    out.levels[out.depth++] = level;
    out.count = size;
    return out;
  }
};

/// The positions in k of one instruction's products, in the order of a KOrder
/// (emulate/gemm_model.h): its i-th product is that of position place(i), or padding with +0 if
/// that is -1.
struct InstructionPlaces {
  const Places* places = nullptr;
  KOrder order{};
  int k = 0;       ///< products of one instruction
  int number = 0;  ///< of the instruction in its chain, in ascending order of k

  constexpr int operator()(int i) const {
    const int width = order.group == 1 ? k : order.width;
    const int within = i / width * width * order.group + number % order.group * width + i % width;
    const int at = number / order.group * order.group * k + within;
    return at < places->count ? (*places)(at) : -1;
  }
};

namespace detail {

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
      visit.products(InstructionPlaces{&places, order, g.k, order.descending ? all - 1 - i : i});
    }
  }
  /// Returns how many instructions a chain of some products has: whole groups of its KOrder.
  constexpr int instruction_count(int products) const {
    const int whole = g.k * g.sum.order.group;
    return (products + whole - 1) / whole * g.sum.order.group;
  }
  /// Pushes the accumulator with which a chain begins: C if `with_c`, else +0.
  constexpr void start(bool with_c, const Format& f) const {
    with_c ? visit.push_c(f) : visit.push_zero(f);
  }
  /// Adds the products at `places` to the accumulator on top of the stack, with promotion if the
  /// model has it.
  constexpr void go_on(const Places& places) const {
    const int n = instruction_count(places.count);
    const int every = g.sum.promote_every;
    if (every == 0) return instructions(places, 0, n);
    for (int first = 0; first < n; first += every) {
      visit.push_zero(g.types.d);
      instructions(places, first, n - first < every ? n - first : every);
      visit.add(g.sum.promotion, Role::promote);
    }
  }
  /// Sums the products at `places` in one chain of instructions.
  constexpr void chain(const Places& places, bool with_c) const {
    start(with_c, g.sum.promote_every == 0 ? g.types.d : g.sum.promotion);
    go_on(places);
  }

  /// Sums part number `number` of a division of K.
  constexpr void part(const Places& places, int level, int number) const {
    const Split& split = g.sum.splits[level];
    if (split.interleave != 0) {
      return sum(places.interleaved(split.interleave, split.parts, number), level + 1, false);
    }
    const int unit = split.tile == 0 ? g.k : split.tile;
    const int units =
        split.tile == 0 ? instruction_count(places.count) : (places.count + unit - 1) / unit;
    const int share = (units + split.parts - 1) / split.parts * unit;
    const int first = share * number < places.count ? share * number : places.count;
    const int rest = places.count - first;
    sum(places.run(first, rest < share ? rest : share), level + 1, false);
  }
  /// Sums n parts, number first, first + stride, …, as a tree (Reduction::pairs and halves).
  constexpr void tree(const Places& places, int level, int first, int stride, int n) const {
    if (n == 1) {
      part(places, level, first);
      return visit.convert(g.sum.partial, Role::reduce);
    }
    int left = 1;
    if (g.sum.splits[level].reduction == Reduction::halves) {
      tree(places, level, first, 2 * stride, (n + 1) / 2);
      tree(places, level, first + stride, 2 * stride, n / 2);
    } else {
      while (2 * left < n) left *= 2;
      tree(places, level, first, stride, left);
      tree(places, level, first + left * stride, stride, n - left);
    }
    visit.add(g.sum.partial, Role::reduce);
  }
  /// Sums all parts one after the other (Reduction::ascending and descending).
  constexpr void one_after_the_other(const Places& places, int level, bool with_c) const {
    const Split& split = g.sum.splits[level];
    if (with_c) visit.push_c(g.sum.partial);
    for (int i = 0; i < split.parts; ++i) {
      part(places, level, split.reduction == Reduction::descending ? split.parts - 1 - i : i);
      visit.convert(g.sum.partial, Role::reduce);
      if (i > 0 || with_c) visit.add(g.sum.partial, Role::reduce);
    }
  }
  /// Sums the products at `places`, divided into parts from a level of Accumulation::splits on.
  constexpr void sum(const Places& places, int level, bool with_c) const {
    if (level == 3 || g.sum.splits[level].parts <= 1) return chain(places, with_c);
    const Split& split = g.sum.splits[level];
    const int round = split.parts * (split.interleave == 0 ? 1 : split.interleave);
    const bool has_tail = split.tail_after && split.interleave != 0;
    const int whole = has_tail ? places.count / round * round : places.count;
    const Places shared = places.run(0, whole);
    const bool in_turn =
        split.reduction == Reduction::ascending || split.reduction == Reduction::descending;
    if (in_turn) {
      one_after_the_other(shared, level, with_c);
    } else {
      tree(shared, level, 0, 1, split.parts);
      if (with_c) {
        visit.push_c(g.sum.partial);
        visit.add(g.sum.partial, Role::reduce);
      }
    }
    if (whole < places.count) go_on(places.run(whole, places.count - whole));
  }
};

}  // namespace detail

/// Calls the visitor with the sum of k products as operations on a stack, in their order:
///
///     visit.push_zero(format)              pushes +0
///     visit.push_c(format)                 pushes C
///     visit.products(InstructionPlaces)    adds products to the accumulator on top
///     visit.add(format, role)              replaces the two accumulators on top by their sum
///     visit.convert(format, role)          converts the accumulator on top
template <class Visitor>
constexpr void walk_sum(const GemmModel& g, int k, Visitor& visit) {
  Places all;
  all.count = k;
  detail::SumWalk<Visitor>{g, visit}.sum(all, 0, g.sum.c_first);
}

}  // namespace binade
