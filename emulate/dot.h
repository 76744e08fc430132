// SPDX-License-Identifier: Apache-2.0
//
// One element of a matrix multiply-accumulate as Tensor Cores compute it: d = c + sum of a[k]·b[k],
// in the order, with the alignment and with the roundings of the hardware. A DotModel (dot_model.h)
// names the recipe; instruction_models.h says which instruction follows which model. Eight products
// under each recipe, where [ … ] is one rounding, p_k the product a[k]·b[k] and the block has L = 4
// products:
//
//     fused_block      [[c + p0 + p1 + p2 + p3] + p4 + p5 + p6 + p7]    terms cut as in fused_sum.h
//     expanded         [[c + p0 + p1 + p4 + p5] + p2 + p3 + p6 + p7]    a and b as binary16, cut too
//     fma_chain        [[[c + p0] + p1] + … + p7]
//     mul_add_chain    [[[c + [p0]] + [p1]] + … + [p7]]
//     pairwise         s = [[c + [[p0] + p1]] + [[p2] + p3]], then p4 to p7 onto s
//     exact_integer    c + p0 + … + p7                                  no rounding (integer_dot.h)
#pragma once

#include <cstdint>
#include <optional>

#include "emulate/fused_sum.h"
#include "emulate/integer.h"
#include "emulate/integer_dot.h"
#include "emulate/scaled_sum.h"
#include "emulate/sparse.h"

namespace binade {

/// Returns the position in k of the i-th product that the expanded recipe adds. With `is_sparse`, k
/// counts all elements of a sparse a, and four of them, of which two are kept, take the place of
/// two.
///
///     k = 8     i            0 1 2 3 | 4 5 6 7     two blocks
///               position     0 1 4 5 | 2 3 6 7
constexpr int expanded_index(int i, int k, bool is_sparse = false) {
  const int half = i / (k / 2);
  const int within = i % (k / 2);
  const int run = is_sparse ? 4 : 2;
  return within / run * 2 * run + run * half + within % run;
}

/// Returns d of the expanded recipe: the operands become binary16, and two chains of fused blocks
/// follow each other. k is a multiple of 4 and at most 64.
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

/// Returns the NaN of a binary64 fma of `bits` = a, b, c: that of b if b is a NaN, else that of c,
/// else that of a, made quiet. If no operand is a NaN, it is the negative NaN of an invalid
/// operation. This is what DMMA, the binary64 instruction, gave in rows of an H100.
constexpr std::uint64_t double_nan(const Operands& bits, const OperandFormats& from) {
  const Attributes keep{.nan = NanResult::propagate};
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{0}}) {
    const bool is_nan = decode(bits[i], from[i]).kind == Kind::nan;
    if (is_nan) return convert(bits[i], from[i], binary64, keep).bits;
  }
  return nan_bits(binary64, NanResult::propagate, true);
}

/// Returns the encoding that one rounded operation gives in format `to`. A NaN of a multiply_add in
/// binary64 is that of double_nan. `random` is for a conversion with stochastic rounding.
BINADE_OUT_OF_LINE constexpr std::uint64_t action_bits(Action action, const Operands& bits,
                                                       const OperandFormats& from, const Format& to,
                                                       const Attributes& attributes,
                                                       std::uint32_t random = 0) {
  switch (action) {
    case Action::add: return compute(Operation::add, bits, from, to, attributes).bits;
    case Action::multiply: return compute(Operation::multiply, bits, from, to, attributes).bits;
    case Action::multiply_add: {
      const std::uint64_t out = compute(Operation::multiply_add, bits, from, to, attributes).bits;
      const bool is_nan = to == binary64 && decode(out, to).kind == Kind::nan;
      return is_nan ? double_nan(bits, from) : out;
    }
    case Action::convert:
      if (!is_integer(from[0])) return convert(bits[0], from[0], to, attributes, random).bits;
      return project(from_integer(bits[0], {from[0].bits(), from[0].has_sign}), to, attributes,
                     random)
          .bits;
    case Action::maximum: return compute(Operation::maximum, bits, from, to, attributes).bits;
  }
  return 0;
}

/// Returns the result of action_bits, and reports the operation to a tracer (trace.h).
template <class Trace>
constexpr std::uint64_t compute_step(const Trace& trace, Role role, Action action, int place,
                                     const Operands& bits, const OperandFormats& from,
                                     const Format& to, const Attributes& attributes,
                                     const std::optional<std::uint32_t>& random = {}) {
  const std::uint64_t out = action_bits(action, bits, from, to, attributes, random.value_or(0));
  trace.operation({role,
                   action,
                   place,
                   {bits[0], bits[1], bits[2]},
                   {from[0], from[1], from[2]},
                   to,
                   out,
                   random});
  return out;
}

/// Returns d of a chain: for each product a fused multiply-add, or a rounded product and a rounded
/// sum.
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

/// Returns d of one mma.m8n8k4: c plus the pairs p0 + p1 and p2 + p3, in binary32, rounded to d's
/// type. If n < 4, the operands of the missing products are +0.
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

/// Returns d of k products, four at a time, where the d of four is the c of the next four.
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

/// Returns c plus k products by the model's recipe, as an encoding of types.d.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t sum_of_products(const DotModel& model, const DotTypes& types, const Code* a,
                                        const Code* b, int k, std::uint64_t c,
                                        const Trace& trace = {}, const DotScales& scales = {}) {
  switch (model.recipe) {
    case Recipe::fused_block:
      if (is_scaled(model)) return scaled_chain(model, types, a, b, k, scales, c, trace);
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

/// Returns the types with which the recipe sums: the instruction's, except that d is binary32 under
/// `through_f32` and that under `c_last` the sum begins with a zero of d's type.
constexpr DotTypes types_of_sums(const DotModel& model, DotTypes types) {
  if (model.through_f32) types.d = binary32;
  if (model.c_last) types.c = types.d;
  return types;
}

/// Returns d from a sum of products: c is added if the model adds it last, and the sum is converted
/// to d's type. `types` are the instruction's.
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

/// Returns d of k products, none of which is left out.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t dense_dot(const DotModel& model, const DotTypes& types, const Code* a,
                                  const Code* b, int k, std::uint64_t c, const Trace& trace = {},
                                  const DotScales& scales = {}) {
  const DotTypes sums = types_of_sums(model, types);
  const bool from_zero = model.c_last || model.scales.without_c;
  const std::uint64_t start = from_zero ? zero_bits(sums.c, false) : c;
  const std::uint64_t sum = sum_of_products(model, sums, a, b, k, start, trace, scales);
  return finished(model, types, sum, c, trace);
}

/// Returns d of k >= 1 products, with all operands and d as encodings. Under `expanded`, k is a
/// multiple of 4 and at most 64; in a sparse model (sparse_group not 0), a multiple of 4 and at
/// most 128; in a sparse model under `expanded`, a multiple of 8, at most 64. `scales` are read by
/// a model that is scaled. This function is the definition: faster kernels must give the same bits.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t dot(const DotModel& model, const DotTypes& types, const Code* a,
                            const Code* b, int k, std::uint64_t c, const Trace& trace = {},
                            const DotScales& scales = {}) {
  if (model.sparse_group == 0) return dense_dot(model, types, a, b, k, c, trace, scales);
  std::uint32_t kept_a[64]{};
  std::uint32_t kept_b[64]{};
  keep_half(a, b, k, model.sparse_group, kept_a, kept_b);
  const auto place = [&](int i) {
    const int half = model.sparse_group / 2;
    const int first = i / half * model.sparse_group;
    return first + kept_position(a + first, model.sparse_group, i % half);
  };
  return dense_dot(model, types, kept_a, kept_b, k / 2, c, PlacedTrace{trace, place}, scales);
}

/// Returns true only if a chain of instructions of k products each gives the same bits as one `dot`
/// of all their products. It returns false for pairwise and exact_integer without a closer look.
constexpr bool is_one_dot(const DotModel& x, const DotTypes& types, int k) {
  const bool ends_alike = types.c == types.d && !x.c_last && !x.through_f32 && !x.descending &&
                          x.sparse_group == 0 && x.scales == WgmmaScales{};
  const bool blocks = x.recipe == Recipe::fused_block && k % x.block == 0;
  return ends_alike && (blocks || is_chain(x));
}

}  // namespace binade
