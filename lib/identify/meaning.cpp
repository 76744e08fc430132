// SPDX-License-Identifier: Apache-2.0
//
// Hashes the expression of a sum. The hash of an addition does not depend on the order of its
// operands, nor that of a fused block on the order of its products, since both are exact until one
// rounding.
#include "lib/identify/meaning.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "emulate/dot.h"

namespace binade {
namespace {

/// The finalizer of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

std::uint64_t hash_of(std::initializer_list<std::uint64_t> words) {
  std::uint64_t out = words.size();
  for (const std::uint64_t word : words) out = mixed(out ^ mixed(word));
  return out;
}

std::uint64_t number(int x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)); }
std::uint64_t number(bool x) { return x ? 1 : 0; }

std::uint64_t hash_of(const Format& f) {
  return hash_of({number(f.exponent_bits), number(f.precision), number(f.bias),
                  static_cast<std::uint64_t>(f.specials), number(f.has_zero), number(f.has_sign),
                  number(f.padding_bits)});
}

/// Hashes everything that a block's arithmetic depends on except the products themselves.
std::uint64_t hash_of(const GemmModel& g) {
  const DotModel& m = g.model;
  const std::uint64_t numbers =
      is_fused(m) ? hash_of({number(m.fraction_bits), number(m.exponent_floor), hash_of(m.grid)})
                  : 0;
  return hash_of({static_cast<std::uint64_t>(m.recipe), numbers,
                  static_cast<std::uint64_t>(m.rounding), number(m.c_last), number(m.through_f32),
                  number(m.integer.satfinite), number(m.integer.exclusive_or),
                  number(m.scales.without_c), number(m.scales.minus_a), number(m.scales.minus_b),
                  number(m.scaling.share), number(m.scaling.group), hash_of(m.scaling.format),
                  hash_of(g.types.a), hash_of(g.types.b), hash_of(g.types.d)});
}

class Expression {
 public:
  Expression(const GemmModel& g, const SumProgram& program) : g_(g), core_(hash_of(g)) {
    for (const SumStep& step : program.steps) take(step, program);
  }
  std::uint64_t value() const { return stack_[0].hash; }
  const Format& format() const { return stack_[0].format; }

 private:
  struct Node {
    std::uint64_t hash = 0;
    Format format{};
  };
  enum Tag : std::uint64_t { zero = 1, addend, add, convert, block, product, last };

  void take(const SumStep& step, const SumProgram& program) {
    switch (step.kind) {
      case StepKind::push_zero: stack_[depth_++] = zero_of(step.format); break;
      case StepKind::push_c:
        stack_[depth_++] = {hash_of({addend, hash_of(g_.c)}), g_.c};
        to(step.format);
        break;
      case StepKind::add: {
        const Node y = stack_[--depth_];
        Node& x = stack_[depth_ - 1];
        if (is_zero(x) && is_zero(y)) {  // of parts that are empty
          x = zero_of(step.format);
          break;
        }
        x = {hash_of({add, hash_of(step.format), x.hash + y.hash, x.hash ^ y.hash}), step.format};
        break;
      }
      case StepKind::add_scaled: {
        const Node y = stack_[--depth_];
        Node& x = stack_[depth_ - 1];
        const PromotionScaling& how = g_.sum.scaling;
        x = {hash_of({add, hash_of(step.format), x.hash, y.hash, step.first + 1,
                      static_cast<std::uint64_t>(how.order), number(how.fused)}),
             step.format};
        break;
      }
      case StepKind::convert: to(step.format); break;
      case StepKind::products: {
        const int* order = program.order.data() + step.first;
        for (int i = 0; i < step.instructions; ++i) {
          to(g_.types.c);
          Node& top = stack_[depth_ - 1];
          top = {products(top.hash, order + i * g_.k), g_.types.d};
        }
        break;
      }
    }
  }
  void to(const Format& f) {
    Node& top = stack_[depth_ - 1];
    if (top.format == f) return;
    top = is_zero(top) ? zero_of(f) : Node{hash_of({convert, hash_of(f), top.hash}), f};
  }
  static Node zero_of(const Format& f) { return {hash_of({zero, hash_of(f)}), f}; }
  static bool is_zero(const Node& x) { return x.hash == zero_of(x.format).hash; }

  std::uint64_t products(std::uint64_t sum, const int* order) const {
    const DotModel& m = g_.model;
    const std::uint64_t c = sum;
    if (m.c_last) sum = hash_of({zero});
    switch (m.recipe) {
      case Recipe::fused_block: sum = blocks(sum, order, 0, g_.k); break;
      case Recipe::expanded:
        for (int first = 0; first < g_.k; first += g_.k / 2) {
          sum = blocks(sum, order, first, first + g_.k / 2);
        }
        break;
      case Recipe::exact_integer: sum = hash_of({sum, bag(order, 0, g_.k)}); break;
      case Recipe::fma_chain:
      case Recipe::mul_add_chain:
      case Recipe::pairwise:
        for (int i = 0; i < g_.k; ++i) sum = hash_of({product, core_, sum, number(order[i])});
        break;
    }
    return m.c_last ? hash_of({last, sum, c}) : sum;
  }
  std::uint64_t blocks(std::uint64_t sum, const int* order, int first, int end) const {
    for (int at = first; at < end; at += g_.model.block) {
      const int stop = end - at < g_.model.block ? end : at + g_.model.block;
      sum = hash_of({block, core_, sum, groups(order, at, stop)});
    }
    return sum;
  }
  /// Hashes the groups of a block in any order: those that an instruction adds exactly before it
  /// multiplies them by scales, else all of it.
  std::uint64_t groups(const int* order, int first, int end) const {
    const int size = g_.model.scaling.group;
    if (size == 0) return bag(order, first, end);
    std::uint64_t out = 0;
    for (int at = first; at < end; at += size) {
      out += mixed(bag(order, at, at + size < end ? at + size : end));
    }
    return out;
  }
  /// Hashes products in any order; padding adds nothing.
  std::uint64_t bag(const int* order, int first, int end) const {
    std::uint64_t out = 0;
    for (int i = first; i < end; ++i) {
      const bool expanded = g_.model.recipe == Recipe::expanded;
      const int at = order[expanded ? expanded_index(i, g_.k) : i];
      if (at >= 0) out += mixed(number(at));
    }
    return out;
  }

  const GemmModel& g_;
  std::uint64_t core_;
  std::array<Node, most_accumulators> stack_{};
  std::size_t depth_ = 0;
};

/// Hashes what the epilogue does beside computing and rounding once to nearest; 0 if nothing.
/// `computes` says whether it computes at all, with sums of format `sum`.
std::uint64_t detours_of(const Epilogue& e, const Format& sum, bool computes) {
  Format value = sum;
  const auto step = [&value](const std::optional<Format>& to) {
    if (!to || *to == value) return std::uint64_t{0};
    value = *to;
    return hash_of(*to);
  };
  std::uint64_t first = step(e.sum);
  if (computes) value = e.compute;
  if (is_smooth(e.activation)) value = binary32;
  std::uint64_t last = step(e.through);
  // Without anything in between, and a step the one or the other way, D is the same.
  if (!computes && last == 0 && !is_smooth(e.activation)) std::swap(first, last);
  const bool rounds = value != e.out && e.rounding != Rounding::ties_to_even;
  const std::uint64_t rounding = rounds ? static_cast<std::uint64_t>(e.rounding) : 0;
  if (first == 0 && last == 0 && rounding == 0 && e.activation == Activation::none) return 0;
  return hash_of({first, last, rounding, static_cast<std::uint64_t>(e.activation)});
}

}  // namespace

std::uint64_t meaning_of(const GemmModel& g, const SumProgram& program,
                         const AddedMatrices& added) {
  const Epilogue& e = g.epilogue;
  const bool with_c = added.c && !g.sum.c_first && e.beta != 0;
  const Expression sum(g, program);
  const bool converts = is_integer(sum.format()) && !is_integer(e.out);
  const bool is_scaled = added.a_scale || added.b_scale;
  const bool scales = e.alpha != 1 || with_c || added.bias || is_scaled || converts;
  const std::uint64_t factors =
      added.a_scale && added.b_scale ? static_cast<std::uint64_t>(e.scales) + 1 : number(is_scaled);
  // With nothing to add behind a product, it does not matter which one is fused.
  const bool fuses = with_c || (added.bias && !e.bias_first);
  const std::uint64_t ending =
      scales ? hash_of({hash_of(e.compute), number(e.sum_last && fuses), number(with_c), factors,
                        number(added.bias && e.bias_first)})
             : 0;
  return hash_of({sum.value(), hash_of(g.types.d), ending, hash_of(e.out), number(e.saturate),
                  detours_of(e, sum.format(), scales)});
}

}  // namespace binade
