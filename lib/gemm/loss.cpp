// SPDX-License-Identifier: Apache-2.0
//
// Turns events into losses. What a term lost is its significand less what the model kept of it,
// split at the exponent that its block has without the floor. What a rounding lost is the
// difference of its result and its exact operands.
#include "lib/gemm/loss.h"

#include <algorithm>
#include <limits>
#include <span>

#include "lib/text/error.h"

namespace binade {
namespace {

bool is_special(const Exact& x) { return x.kind == Kind::infinite || x.kind == Kind::nan; }

/// Adds ±x, or nothing where it is zero.
void add(SignedSum& sum, const Exact& x, bool minus) {
  if (x.kind == Kind::finite) sum.add(x.negative != minus, x.significand, x.exponent);
}

bool below_binary32(const Format& f) { return f != binary32 && fits_in(f, binary32); }

/// Records a step of `rule`, in which x.difference is delivered - exact. `is_zero` says whether the
/// delivered result is zero.
void record(ElementLosses& x, LossRule rule, bool is_zero) {
  StepLoss step{.rule = rule, .raised = !x.difference.is_negative(), .place = x.last_place};
  const bool nothing = x.difference.is_zero();
  step.vanished = is_zero && !nothing;
  if (nothing) {
    x.steps.push_back(step);
    return;
  }
  x.difference.pieces([&](std::uint64_t value, int exponent) {
    step.significand = value;
    step.exponent = exponent;
    x.steps.push_back(step);
    step.first = false;
  });
  (rule >= LossRule::alpha ? x.after : x.sum).add(x.difference);
}

/// Records the rounding to `result` of an exact number, whose negative x.difference holds. A
/// rounding into a format below binary32 is two steps: what binary32 toward zero would lose, and
/// the rest.
void record_rounding(ElementLosses& x, LossRule rule, const Exact& result, const Format& to,
                     const Exact& in_binary32) {
  const bool split =
      below_binary32(to) && rule < LossRule::promotion && rule != LossRule::accumulator_format;
  if (split) {
    add(x.difference, in_binary32, false);
    record(x, rule, in_binary32.kind == Kind::zero);
    x.difference.clear();
    if (in_binary32.kind == Kind::zero && result.kind == Kind::zero) return;
    add(x.difference, in_binary32, true);
    rule = LossRule::accumulator_format;
  }
  add(x.difference, result, false);
  record(x, rule, result.kind == Kind::zero);
}

/// Returns what a finite term other than zero lost by alignment to x.top; `top` is the exponent
/// that the block would be aligned to without the floor.
TermLoss term_loss(const TracedTerm& term, const TracedBlock& x, int top) {
  const Addend& a = term.term;
  TermLoss out{.negative = a.negative,
               .distance = x.top - a.exponent,
               .place = term.place,
               .significand = a.significand,
               .exponent = a.exponent - a.fraction_bits};
  const auto units = static_cast<std::uint64_t>(term.units < 0 ? -term.units : term.units);
  const int drop = x.top - x.fraction_bits - out.exponent;
  const std::uint64_t kept = drop >= 64 ? 0 : drop >= 0 ? units << drop : units >> -drop;
  const std::uint64_t lost = a.significand - kept;
  const int at_top = top - x.fraction_bits - out.exponent;
  out.alignment = at_top <= 0    ? 0
                  : at_top >= 64 ? a.significand
                                 : a.significand & ((std::uint64_t{1} << at_top) - 1);
  out.floor = lost - out.alignment;
  return out;
}

}  // namespace

LossRule rule_of(Role role) {
  switch (role) {
    case Role::chain: return LossRule::operation;
    case Role::c_last: return LossRule::c_last;
    case Role::narrow: return LossRule::accumulator_format;
    case Role::promote: return LossRule::promotion;
    case Role::reduce: return LossRule::reduction;
    case Role::scale:
    case Role::alpha: return LossRule::alpha;
    case Role::beta: return LossRule::beta;
    case Role::bias: return LossRule::bias;
    case Role::relu:
    case Role::output: return LossRule::output;
  }
  return LossRule::output;
}

Exact number_of(std::uint64_t bits, const Format& f) {
  if (!is_integer(f)) return decode(bits, f);
  const std::int64_t value = integer_of(bits, f);
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
  return {.kind = value == 0 ? Kind::zero : Kind::finite,
          .negative = value < 0,
          .significand = magnitude};
}

void ElementLosses::clear() {
  terms.clear();
  steps.clear();
  sum.clear();
  after.clear();
  special = false;
  blocks = blocks_at_addend = blocks_at_floor = 0;
  block.clear();
  difference.clear();
  last_place = 0;
}

void LossTrace::term(const TracedTerm& x) const { to->block.push_back(x); }

void LossTrace::block(const TracedBlock& x) const {
  ElementLosses& out = *to;
  const auto is_finite = [](const TracedTerm& t) { return t.term.kind == Kind::finite; };
  const Exact result = number_of(x.result, x.to);
  out.special = out.special || x.special || is_special(result);
  const bool any = std::ranges::any_of(out.block, is_finite);
  if (out.special || !any) {
    out.block.clear();
    return;
  }
  int products_top = std::numeric_limits<int>::min();
  for (const TracedTerm& t : std::span(out.block).subspan(1)) {
    if (is_finite(t)) products_top = std::max(products_top, t.term.exponent);
  }
  const TracedTerm& c = out.block.front();
  const bool addend_leads = is_finite(c) && c.term.exponent > products_top;
  const int top = addend_leads ? c.term.exponent : products_top;
  ++out.blocks;
  out.blocks_at_addend += addend_leads && x.top == top ? 1 : 0;
  out.blocks_at_floor += x.top > top ? 1 : 0;
  const auto first = std::ranges::find_if(std::span(out.block).subspan(1),
                                          [](const TracedTerm& t) { return t.place >= 0; });
  if (first != std::span(out.block).end()) out.last_place = first->place;
  for (const TracedTerm& t : out.block) {
    if (!is_finite(t)) continue;
    TermLoss loss = term_loss(t, x, top);
    loss.addend = &t == &c;
    if (t.place < 0) loss.place = out.last_place;
    if (is_integer(x.to)) loss.distance = TermLoss::no_block;
    out.sum.add(!loss.negative, uint128{loss.alignment} + loss.floor, loss.exponent);
    out.terms.push_back(loss);
  }
  out.block.clear();
  if (x.sum == 0) return;
  const auto magnitude = static_cast<std::uint64_t>(x.sum < 0 ? -x.sum : x.sum);
  const Exact sum{.kind = Kind::finite,
                  .negative = x.sum < 0,
                  .exponent = x.top - x.fraction_bits,
                  .significand = magnitude};
  const Projected cut = project(sum, binary32, {.rounding = Rounding::toward_zero});
  out.difference.clear();
  add(out.difference, sum, true);
  record_rounding(out, LossRule::block_rounding, result, x.to, decode(cut.bits, binary32));
}

void LossTrace::operation(const TracedOperation& x) const {
  ElementLosses& out = *to;
  const auto operand = [&x](int i) { return number_of(x.operands[i], x.from[i]); };
  const bool multiplies = x.action == Action::multiply || x.action == Action::multiply_add;
  const bool adds = x.action == Action::add || x.action == Action::multiply_add;
  const Exact result = number_of(x.result, x.to);
  const Exact first = operand(0);
  const Exact second = multiplies || adds ? operand(1) : Exact{};
  const Exact third = x.action == Action::multiply_add ? operand(2) : Exact{};
  out.special = out.special || is_special(first) || is_special(second) || is_special(third) ||
                is_special(result);
  if (out.special) return;
  if (x.role == Role::chain && x.place >= 0) out.last_place = x.place;
  out.difference.clear();
  bool any = false;
  if (multiplies) {
    const bool zero = first.kind == Kind::zero || second.kind == Kind::zero;
    const Exact product{.kind = zero ? Kind::zero : Kind::finite,
                        .negative = first.negative != second.negative,
                        .exponent = first.exponent + second.exponent,
                        .significand = first.significand * second.significand};
    add(out.difference, product, true);
    add(out.difference, third, true);
    any = !zero || third.kind == Kind::finite;
    if (x.role == Role::chain && !zero) {
      out.terms.push_back({.negative = product.negative,
                           .place = out.last_place,
                           .significand = product.significand,
                           .exponent = product.exponent});
    }
  } else {
    add(out.difference, first, true);
    add(out.difference, second, true);
    any = first.kind == Kind::finite || second.kind == Kind::finite;
  }
  if (!any) return;
  const Attributes cut{.rounding = Rounding::toward_zero};
  const Operation operation = x.action == Action::multiply       ? Operation::multiply
                              : x.action == Action::multiply_add ? Operation::multiply_add
                                                                 : Operation::add;
  const std::uint64_t in_binary32 =
      x.action == Action::convert || !below_binary32(x.to)
          ? 0
          : compute(operation, {x.operands[0], x.operands[1], x.operands[2]},
                    {x.from[0], x.from[1], x.from[2]}, binary32, cut)
                .bits;
  record_rounding(out, rule_of(x.role), result, x.to, decode(in_binary32, binary32));
}

ElementError element_error(const GemmModel& model, const ElementLosses& losses,
                           std::uint64_t result) {
  const Exact d = number_of(result, model.epilogue.out);
  const Format& f = model.epilogue.compute;
  const Exact alpha = number_of(scalar_bits(model.epilogue.alpha, f), f);
  ElementError out;
  out.special = losses.special || is_special(d);
  if (out.special) return out;
  if (model.epilogue.alpha == 1) {
    out.difference = losses.sum;
  } else if (alpha.kind == Kind::finite) {
    out.difference = losses.sum.times(alpha.negative, static_cast<std::uint64_t>(alpha.significand),
                                      alpha.exponent);
  }
  out.difference.add(losses.after);
  add(out.exact, d, false);
  out.exact.subtract(out.difference);
  return out;
}

void require_whole_sums(const GemmModel& model, std::size_t k) {
  const bool several = k > static_cast<std::size_t>(model.k) || model.sum.c_first;
  if (model.model.scales.without_c && several) {
    throw Error(
        "this product drops the accumulator at every instruction (scale-d 0) and has no "
        "exact value to compare with; let the accumulator take part");
  }
}

}  // namespace binade
