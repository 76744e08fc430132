// SPDX-License-Identifier: Apache-2.0
//
// One element of a whole matrix product, of any K, as a kernel computes it with instructions: first
// the sum, which is the walk of sum_order.h over a stack of accumulators, then the epilogue. With
// an instruction of k = 4 and K = 6, without promotion or parts of K:
//
//     k of a, b          0 1 2 3 | 4 5 . .              . is padding with +0
//     accumulator   +0 -> dot    -> dot    -> sum       each `dot` of emulate/dot.h
//     finished      alpha·sum + beta·C + bias           each operation rounded
//     epilogue      D                                   the finished value, rounded to D's format
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "emulate/activation.h"
#include "emulate/dot.h"
#include "emulate/gemm_model.h"
#include "emulate/philox.h"
#include "emulate/sum_order.h"

namespace binade {

/// The operands of one element of D, as encodings: a row of A and a column of B (`k` codes each),
/// the element of C and that of the bias vector, and the scales of the row and of the column, in
/// binary32. The members `has_…` say whether the latter four exist; `place` is where the element
/// lies in D.
template <class Code>
struct GemmElement {
  const Code* a = nullptr;
  const Code* b = nullptr;
  int k = 0;
  std::uint64_t c = 0;
  std::uint64_t bias = 0;
  bool has_c = false;
  bool has_bias = false;
  std::uint64_t a_scale = 0;
  std::uint64_t b_scale = 0;
  bool has_a_scale = false;
  bool has_b_scale = false;
  ElementPlace place{};
  /// The scales of the row's and of the column's runs of K (scale_run), one behind the other, in
  /// binary32, of which an instruction that is scaled takes those in its format, and NaNs; null:
  /// all are 1.
  const std::uint32_t* a_runs = nullptr;
  const std::uint32_t* b_runs = nullptr;
};

/// An encoding and its format.
struct Typed {
  std::uint64_t bits = 0;
  Format format{};
};

namespace detail {

inline constexpr Attributes to_nearest{.nan = NanResult::nvidia};

/// The scales of the operands of one instruction that is scaled, in their order.
struct InstructionScales {
  std::uint8_t a[16]{};
  std::uint8_t b[16]{};

  constexpr DotScales of() const { return {a, b}; }
};
/// Returns a scale of binary32, which is a number of `f` or a NaN, as a code of f.
constexpr std::uint8_t scale_code(std::uint32_t scale, const Format& f) {
  return static_cast<std::uint8_t>(binade::convert(scale, binary32, f).bits);
}
/// Gathers them: those of a run that is all padding are 1.
template <class Code, class Place>
constexpr InstructionScales gathered_scales(const GemmModel& g, const GemmElement<Code>& x,
                                            const Place& place) {
  InstructionScales out;
  const Format& f = g.model.scaling.format;
  const int run = scale_run(g);
  for (int first = 0; first < g.k; first += run) {
    int at = -1;
    for (int i = first; i < first + run && at < 0; ++i) at = place(i);
    const auto scale = [&](const std::uint32_t* runs) {
      constexpr std::uint32_t one = 0x3F800000;
      return scale_code(runs == nullptr || at < 0 ? one : runs[at / run], f);
    };
    out.a[first / run] = scale(x.a_runs);
    out.b[first / run] = scale(x.b_runs);
  }
  return out;
}

/// Returns d of one instruction, whose i-th operands are x.a[place(i)] and x.b[place(i)], or +0 if
/// place(i) is negative (padding).
template <class Code, class Place, class Trace>
constexpr std::uint64_t instruction(const GemmModel& g, const GemmElement<Code>& x,
                                    const Place& place, std::uint64_t c, const DotTypes& types,
                                    const Trace& trace) {
  Code a[256]{};
  Code b[256]{};
  for (int i = 0; i < g.k; ++i) {
    const int at = place(i);
    a[i] = at < 0 ? static_cast<Code>(zero_bits(types.a, false)) : x.a[at];
    b[i] = at < 0 ? static_cast<Code>(zero_bits(types.b, false)) : x.b[at];
  }
  const PlacedTrace placed{trace, place};
  if (!is_scaled(g.model)) return dot(g.model, types, a, b, g.k, c, placed);
  return dot(g.model, types, a, b, g.k, c, placed, gathered_scales(g, x, place).of());
}

/// Returns r + acc times scales, in format f: a promotion (PromotionScaling).
template <class Trace = NoTrace>
constexpr std::uint64_t scaled_add(const PromotionScaling& how, const Typed& r, const Typed& acc,
                                   const std::uint32_t* a, const std::uint32_t* b, const Format& f,
                                   const Trace& trace = {}) {
  const auto step = [&](Action action, const Operands& bits, const OperandFormats& from) {
    return compute_step(trace, Role::promote, action, 0, bits, from, f, to_nearest);
  };
  const bool b_last = b != nullptr && (a == nullptr || how.order != ScaleOrder::b_first);
  const std::uint32_t* const last = b_last ? b : a;
  const std::uint32_t* const other = b_last ? a : b;
  if (last == nullptr) return step(Action::add, {r.bits, acc.bits}, {r.format, acc.format});
  Typed sum = acc, factor{*last, binary32};
  if (other != nullptr && how.order == ScaleOrder::together) {
    factor = {step(Action::multiply, {*other, *last}, {binary32, binary32}), f};
  } else if (other != nullptr) {
    sum = {step(Action::multiply, {acc.bits, *other}, {acc.format, binary32}), f};
  }
  if (how.fused) {
    return step(Action::multiply_add, {sum.bits, factor.bits, r.bits},
                {sum.format, factor.format, r.format});
  }
  const std::uint64_t product =
      step(Action::multiply, {sum.bits, factor.bits}, {sum.format, factor.format});
  return step(Action::add, {r.bits, product}, {r.format, f});
}

/// The visitor of walk_sum that computes the sum. stack[depth - 1] is the top of the stack.
template <class Code, class Trace>
struct Evaluation {
  const GemmModel& g;
  const GemmElement<Code>& x;
  const Trace& trace;
  Typed stack[most_accumulators]{};
  int depth = 0;

  constexpr void push_zero(const Format& f) {
    stack[depth++] = {zero_bits(f, false), f};
    trace.mark(SumMark::zero, stack[depth - 1].bits);
  }
  constexpr void push_c(const Format& f) {
    stack[depth++] = {x.has_c ? x.c : zero_bits(g.c, false), g.c};
    convert(f, Role::narrow);
    trace.mark(SumMark::c, stack[depth - 1].bits);
  }
  constexpr void products(const InstructionPlaces& place) {
    convert(g.types.c, Role::narrow);
    Typed& top = stack[depth - 1];
    trace.mark(SumMark::instruction, top.bits);
    top = {instruction(g, x, place, top.bits, g.types, trace), g.types.d};
  }
  constexpr void add(const Format& f, Role role) {
    const Typed right = stack[--depth];
    Typed& left = stack[depth - 1];
    left = {compute_step(trace, role, Action::add, 0, {left.bits, right.bits},
                         {left.format, right.format}, f, to_nearest),
            f};
  }
  constexpr void add_scaled(const Format& f, int run) {
    const Typed right = stack[--depth];
    Typed& left = stack[depth - 1];
    const auto scale = [run](const std::uint32_t* runs) {
      return runs == nullptr ? runs : runs + run;
    };
    left = {scaled_add(g.sum.scaling, left, right, scale(x.a_runs), scale(x.b_runs), f, trace), f};
  }
  constexpr void convert(const Format& f, Role role) {
    Typed& top = stack[depth - 1];
    if (top.format == f) return;
    top = {compute_step(trace, role, Action::convert, 0, {top.bits}, {top.format}, f, to_nearest),
           f};
  }
};

}  // namespace detail

/// Returns a double rounded to nearest as an encoding of the epilogue's format.
constexpr std::uint64_t scalar_bits(double x, const Format& f) {
  return convert(std::bit_cast<std::uint64_t>(x), binary64, f).bits;
}

/// Returns what the epilogue makes of a finished sum before the last rounding, which is to D's
/// format with the attributes of `output_attributes`.
template <class Code, class Trace = NoTrace>
constexpr Typed finished(const GemmModel& g, const GemmElement<Code>& x, Typed sum,
                         const Trace& trace = {}) {
  const Epilogue& e = g.epilogue;
  const Format& f = e.compute;
  const auto beta = [&e, &f] { return scalar_bits(e.beta, f); };
  const bool with_c = x.has_c && !g.sum.c_first && e.beta != 0;
  const auto step = [&](Role role, Action action, const Operands& bits,
                        const OperandFormats& from) {
    sum = {compute_step(trace, role, action, 0, bits, from, f, detail::to_nearest), f};
  };
  const auto to = [&](Role role, const Format& next) {
    if (sum.format == next) return;
    sum = {compute_step(trace, role, Action::convert, 0, {sum.bits}, {sum.format}, next,
                        detail::to_nearest),
           next};
  };
  if (e.sum) to(Role::narrow, *e.sum);
  const bool is_scaled = x.has_a_scale || x.has_b_scale;
  const bool multiplies = is_scaled || e.alpha != 1;
  const bool adds_last = x.has_bias && !e.bias_first;
  if (multiplies || with_c || x.has_bias || (is_integer(sum.format) && !is_integer(e.out))) {
    to(Role::narrow, f);
  }
  if (x.has_bias && e.bias_first) step(Role::bias, Action::add, {sum.bits, x.bias}, {f, g.bias});
  Typed alpha{scalar_bits(e.alpha, f), f};
  if (is_scaled) {
    const bool both = x.has_a_scale && x.has_b_scale;
    const bool a_last = !x.has_b_scale || (both && e.scales == ScaleOrder::b_first);
    alpha = {a_last ? x.a_scale : x.b_scale, binary32};
    const std::uint64_t first = a_last ? x.b_scale : x.a_scale;
    if (both && e.scales == ScaleOrder::together) {
      alpha = {compute_step(trace, Role::scale, Action::multiply, 0, {first, alpha.bits},
                            {binary32, binary32}, f, detail::to_nearest),
               f};
    } else if (both) {
      step(Role::scale, Action::multiply, {sum.bits, first}, {f, binary32});
    }
  }
  if (e.sum_last) {
    if (with_c) {
      const std::uint64_t source = compute_step(trace, Role::beta, Action::multiply, 0,
                                                {beta(), x.c}, {f, g.c}, f, detail::to_nearest);
      step(Role::alpha, Action::multiply_add, {alpha.bits, sum.bits, source}, {alpha.format, f, f});
    } else if (multiplies) {
      step(Role::alpha, Action::multiply, {alpha.bits, sum.bits}, {alpha.format, f});
    }
    if (adds_last) step(Role::bias, Action::add, {sum.bits, x.bias}, {f, g.bias});
  } else {
    if (adds_last) {
      step(Role::alpha, Action::multiply_add, {alpha.bits, sum.bits, x.bias},
           {alpha.format, f, g.bias});
    } else if (multiplies) {
      step(Role::alpha, Action::multiply, {alpha.bits, sum.bits}, {alpha.format, f});
    }
    if (with_c) step(Role::beta, Action::multiply_add, {beta(), x.c, sum.bits}, {f, g.c, f});
  }
  if (e.activation == Activation::relu) {
    sum.bits = compute_step(trace, Role::relu, Action::maximum, 0,
                            {sum.bits, zero_bits(sum.format, false)}, {sum.format, sum.format},
                            sum.format, detail::to_nearest);
  }
  if (is_smooth(e.activation)) {  // no rounded operation, of which no tracer is told
    to(Role::narrow, binary32);
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(sum.bits));
    sum.bits = std::bit_cast<std::uint32_t>(rounded_activation(e.activation, value));
  }
  if (e.through) to(Role::output, *e.through);
  return sum;
}

/// Returns how the finished value is rounded to D's format.
constexpr Attributes output_attributes(const Epilogue& e) {
  Attributes out = detail::to_nearest;
  out.rounding = e.rounding;
  out.saturation = e.saturate ? Saturation::finite : Saturation::none;
  return out;
}

/// Returns the random word with which stochastic rounding makes the element of this number in D.
constexpr std::optional<std::uint32_t> output_random(const Epilogue& e, std::uint64_t index) {
  if (e.rounding != Rounding::stochastic) return std::nullopt;
  return random_word(e.seed, 0, index);
}

/// Returns D's element, as an encoding of g.epilogue.out, from the finished sum.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t epilogue(const GemmModel& g, const GemmElement<Code>& x, const Typed& sum,
                                 const Trace& trace = {}) {
  const Epilogue& e = g.epilogue;
  const Typed value = finished(g, x, sum, trace);
  if (value.format == e.out && !e.saturate) return value.bits;
  return compute_step(trace, Role::output, Action::convert, 0, {value.bits}, {value.format}, e.out,
                      output_attributes(e), output_random(e, x.place.index()));
}

/// Returns the finished sum of an element, before the epilogue.
template <class Code, class Trace = NoTrace>
constexpr Typed element_sum(const GemmModel& g, const GemmElement<Code>& x,
                            const Trace& trace = {}) {
  detail::Evaluation<Code, Trace> evaluation{g, x, trace};
  walk_sum(g, x.k, x.place, evaluation);
  return evaluation.stack[0];
}

/// Returns D's element, as an encoding of g.epilogue.out. This function is the definition; lib/gemm
/// computes whole matrices with the same bits.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t gemm_element(const GemmModel& g, const GemmElement<Code>& x,
                                     const Trace& trace = {}) {
  return epilogue(g, x, element_sum(g, x, trace), trace);
}

/// Returns sum · 2^log2, |log2| <= 1022, in format f: the sum is rounded to f, and so is the
/// product, both to nearest. It undoes the scaling of a sum whose operands were scaled by powers of
/// two. A log2 of 0 returns the sum in its own format.
constexpr Typed rescaled(const Typed& sum, int log2, const Format& f) {
  if (log2 == 0) return sum;
  const std::uint64_t power = static_cast<std::uint64_t>(log2 + 1023) << 52;
  const std::uint64_t bits = convert(sum.bits, sum.format, f, detail::to_nearest).bits;
  return {compute(Operation::multiply, {power, bits}, {binary64, f}, f, detail::to_nearest).bits,
          f};
}

}  // namespace binade
