// SPDX-License-Identifier: Apache-2.0
//
// One element of a matrix multiply-accumulate as Tensor Cores compute it: d = c + sum of a[k]·b[k], in
// the order, with the alignment and with the roundings of the hardware: the recipes over fused_sum.h
// and integer_dot.h. Which model belongs to which instruction is a row of tensor_core.h.
#pragma once

#include <cstdint>

#include "emulate/fused_sum.h"
#include "emulate/integer_dot.h"
#include "emulate/sparse.h"

namespace binade {

/// Where the i-th product of the expanded recipe stands; of a sparse one four a, of which two are kept, are as two.
constexpr int expanded_index(int i, int k, bool is_sparse = false) {
  const int half = i / (k / 2);
  const int within = i % (k / 2);
  const int run = is_sparse ? 4 : 2;
  return within / run * 2 * run + run * half + within % run;
}

template <class Code, class Trace = NoTrace>
constexpr std::uint64_t expanded_dot(const DotModel& model, const DotTypes& types, const Code* a,
                                     const Code* b, int k, std::uint64_t c,
                                     const Trace& trace = {}) {
  DotTypes inner{binary16, binary16, types.c, types.d};
  for (int first = 0; first < k; first += k / 2) {
    std::uint16_t x[32]{};
    std::uint16_t y[32]{};
    for (int i = 0; i < k / 2; ++i) {
      const int at = expanded_index(first + i, k);
      x[i] = static_cast<std::uint16_t>(convert(a[at], types.a, binary16).bits);
      y[i] = static_cast<std::uint16_t>(convert(b[at], types.b, binary16).bits);
    }
    const auto place = [&](int i) { return expanded_index(first + i, k); };
    c = fused_chain(
        model, inner, x, y, k / 2, [](int i) { return i; }, c, PlacedTrace{trace, place});
    inner.c = inner.d;
  }
  return c;
}

/// The NaN of a binary64 fma: b's operand before c before a, made quiet, and without one of them the
/// negative NaN of an invalid operation: DMMA, in rows of an H100.
constexpr std::uint64_t double_nan(const Operands& bits, const OperandFormats& from) {
  const Attributes keep{.nan = NanResult::propagate};
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{0}}) {
    const bool is_nan = decode(bits[i], from[i]).kind == Kind::nan;
    if (is_nan) return convert(bits[i], from[i], binary64, keep).bits;
  }
  return nan_bits(binary64, NanResult::propagate, true);
}

/// The bits of an action.
BINADE_OUT_OF_LINE constexpr std::uint64_t action_bits(Action action, const Operands& bits,
                                                       const OperandFormats& from, const Format& to,
                                                       const Attributes& attributes) {
  switch (action) {
    case Action::add: return compute(Operation::add, bits, from, to, attributes).bits;
    case Action::multiply: return compute(Operation::multiply, bits, from, to, attributes).bits;
    case Action::multiply_add: {
      const std::uint64_t out = compute(Operation::multiply_add, bits, from, to, attributes).bits;
      const bool is_nan = to == binary64 && decode(out, to).kind == Kind::nan;
      return is_nan ? double_nan(bits, from) : out;
    }
    case Action::convert: return convert(bits[0], from[0], to, attributes).bits;
  }
  return 0;
}

/// The same, told to a tracer.
template <class Trace>
constexpr std::uint64_t compute_step(const Trace& trace, Role role, Action action, int place,
                                     const Operands& bits, const OperandFormats& from,
                                     const Format& to, const Attributes& attributes) {
  const std::uint64_t out = action_bits(action, bits, from, to, attributes);
  trace.operation(
      {role, action, place, {bits[0], bits[1], bits[2]}, {from[0], from[1], from[2]}, to, out});
  return out;
}

/// Fused multiply-adds, or products and sums each rounded, one after the other.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t scalar_chain_dot(const DotModel& model, const DotTypes& types,
                                         const Code* a, const Code* b, int k, std::uint64_t c,
                                         const Trace& trace = {}) {
  const Attributes attributes{.rounding = model.rounding};
  const bool fused = model.recipe == Recipe::fma_chain;
  const Format& d = types.d;
  Format addend = types.c;
  for (int step = 0; step < k; ++step) {
    const int i = model.descending ? k - 1 - step : step;
    if (fused) {
      c = compute_step(trace, Role::chain, Action::multiply_add, i, {a[i], b[i], c},
                       {types.a, types.b, addend}, d, attributes);
    } else {
      const std::uint64_t product = compute_step(trace, Role::chain, Action::multiply, i,
                                                 {a[i], b[i]}, {types.a, types.b}, d, attributes);
      c = compute_step(trace, Role::chain, Action::add, i, {c, product}, {addend, d}, d,
                       attributes);
    }
    addend = d;
  }
  return c;
}

/// Four products and c of m8n8k4; what is missing of them is +0.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t pairwise_block(const DotTypes& types, const Code* a, const Code* b, int n,
                                       std::uint64_t c, const Trace& trace = {}) {
  const Attributes nearest{.nan = NanResult::nvidia};
  const Format f = binary32;
  const OperandFormats from{types.a, types.b, f};
  const auto product = [&](int i, Action action, std::uint64_t addend) {
    const std::uint64_t x = i < n ? a[i] : zero_bits(types.a, false);
    const std::uint64_t y = i < n ? b[i] : zero_bits(types.b, false);
    return compute_step(trace, Role::chain, action, i, {x, y, addend}, from, f, nearest);
  };
  std::uint64_t sum = convert(c, types.c, f, nearest).bits;
  for (int i = 0; i < 4; i += 2) {
    const std::uint64_t first = product(i, Action::multiply, 0);
    const std::uint64_t pair = product(i + 1, Action::multiply_add, first);
    sum = compute_step(trace, Role::chain, Action::add, i, {sum, pair}, {f, f}, f, nearest);
  }
  return compute_step(trace, Role::narrow, Action::convert, 0, {sum}, {f}, types.d, nearest);
}

/// `k` products, four at a time; each result is the next one's c.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t pairwise_dot(const DotTypes& types, const Code* a, const Code* b, int k,
                                     std::uint64_t c, const Trace& trace = {}) {
  for (int first = 0; first < k; first += 4) {
    const Format addend = first == 0 ? types.c : types.d;
    const DotTypes block{types.a, types.b, addend, types.d};
    const auto place = [first](int i) { return first + i; };
    c = pairwise_block(block, a + first, b + first, k - first < 4 ? k - first : 4, c,
                       PlacedTrace{trace, place});
  }
  return c;
}

template <class Code, class Trace = NoTrace>
constexpr std::uint64_t sum_of_products(const DotModel& model, const DotTypes& types, const Code* a,
                                        const Code* b, int k, std::uint64_t c,
                                        const Trace& trace = {}) {
  switch (model.recipe) {
    case Recipe::fused_block:
      return fused_chain(
          model, types, a, b, k, [](int i) { return i; }, c, trace);
    case Recipe::expanded: return expanded_dot(model, types, a, b, k, c, trace);
    case Recipe::fma_chain:
    case Recipe::mul_add_chain: return scalar_chain_dot(model, types, a, b, k, c, trace);
    case Recipe::pairwise: return pairwise_dot(types, a, b, k, c, trace);
    case Recipe::exact_integer:
      return integer_dot(model.integer, types.a, types.b, a, b, k, c, trace);
  }
  return 0;
}

/// The types of the sums: those of the instruction, but for what the model says of c and d.
constexpr DotTypes types_of_sums(const DotModel& model, DotTypes types) {
  if (model.through_f32) types.d = binary32;
  if (model.c_last) types.c = types.d;
  return types;
}

/// What is left to do with a sum: c, if it comes last, and d's type.
template <class Trace = NoTrace>
constexpr std::uint64_t finished(const DotModel& model, const DotTypes& types, std::uint64_t sum,
                                 std::uint64_t c, const Trace& trace = {}) {
  const Attributes nearest{.nan = NanResult::nvidia};
  const Format f = types_of_sums(model, types).d;
  if (model.c_last) {
    sum = compute_step(trace, Role::c_last, Action::add, 0, {sum, c}, {f, types.c}, f, nearest);
  }
  if (f == types.d) return sum;
  return compute_step(trace, Role::narrow, Action::convert, 0, {sum}, {f}, types.d, nearest);
}

/// d of products that all take part.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t dense_dot(const DotModel& model, const DotTypes& types, const Code* a,
                                  const Code* b, int k, std::uint64_t c, const Trace& trace = {}) {
  const DotTypes sums = types_of_sums(model, types);
  const bool from_zero = model.c_last || model.scales.without_c;
  const std::uint64_t start = from_zero ? zero_bits(sums.c, false) : c;
  return finished(model, types, sum_of_products(model, sums, a, b, k, start, trace), c, trace);
}

/// d of `k` products, all as encodings; at most 64 of them and a multiple of 4 under `expanded` and
/// where they are sparse. This is the definition.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t dot(const DotModel& model, const DotTypes& types, const Code* a,
                            const Code* b, int k, std::uint64_t c, const Trace& trace = {}) {
  if (model.sparse_group == 0) return dense_dot(model, types, a, b, k, c, trace);
  std::uint32_t kept_a[32]{};
  std::uint32_t kept_b[32]{};
  keep_half(a, b, k, model.sparse_group, kept_a, kept_b);
  const auto place = [&](int i) {
    const int half = model.sparse_group / 2;
    const int first = i / half * model.sparse_group;
    return first + kept_position(a + first, model.sparse_group, i % half);
  };
  return dense_dot(model, types, kept_a, kept_b, k / 2, c, PlacedTrace{trace, place});
}

/// Whether a chain of instructions of `k` products each is one `dot` of all their products.
constexpr bool is_one_dot(const DotModel& x, const DotTypes& types, int k) {
  const bool ends_alike = types.c == types.d && !x.c_last && !x.through_f32 && !x.descending &&
                          x.sparse_group == 0 && x.scales == WgmmaScales{};
  const bool blocks = x.recipe == Recipe::fused_block && k % x.block == 0;
  return ends_alike && (blocks || is_chain(x));
}

}  // namespace binade
