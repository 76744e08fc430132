// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic inside a Tensor Core: n products and an addend c are aligned to the largest
// exponent, cut, added exactly and rounded once, with the numbers of a DotModel (dot_model.h). The
// rules are proven on rows recorded on hardware, and published in Khattak and Mikaitis (arXiv
// 2512.07004) and MMA-Sim (arXiv 2511.10909). An H100's FP8 wgmma keeps F = 13 bits below the
// largest exponent, `top`:
//
//     top = 2                        weight 2^2 -.             ,- 2^(top-F) = 2^-11, the unit
//     c      5 + 2^-20                           101.00000000000|000000001   cut
//     a·b    1.75 · 1.75                          11.00010000000|
//     a·b   -1.125·2^-6 · 1.375·2^-5           -   0.00000000001|100011      cut toward zero
//     sum    exact, 16511 units                 1000.00001111111
//     d      14 bits, toward zero               1000.0000111111|1            8.0615234375
#pragma once

#include <cstdint>

#include "emulate/dot_model.h"
#include "emulate/operation.h"
#include "emulate/trace.h"

namespace binade {

/// Returns the decoded operand; a subnormal number keeps exponent emin and has no hidden one. The
/// exponent of a zero, an infinity or a NaN has no meaning.
constexpr Addend addend_of(std::uint64_t bits, const Format& f) {
  const Exact x = decode(bits, f);
  return {x.kind, x.negative, static_cast<std::uint64_t>(x.significand),
          x.exponent + f.fraction_bits(), f.fraction_bits()};
}

/// Returns the exact product, which is not normalised: 1.75 · 1.75 has exponent 0. Inf · 0 is NaN.
constexpr Addend product_of(const Addend& a, const Addend& b) {
  const bool zero = a.kind == Kind::zero || b.kind == Kind::zero;
  const bool infinite = a.kind == Kind::infinite || b.kind == Kind::infinite;
  const bool nan = a.kind == Kind::nan || b.kind == Kind::nan || (zero && infinite);
  const Kind kind = nan ? Kind::nan : infinite ? Kind::infinite : zero ? Kind::zero : Kind::finite;
  return {kind, a.negative != b.negative, a.significand * b.significand, a.exponent + b.exponent,
          a.fraction_bits + b.fraction_bits};
}

/// Returns a term, with its sign, in units of 2^(top - fraction_bits), cut toward zero; 0 for a
/// term that is not finite.
constexpr std::int64_t aligned(const Addend& x, int top, int fraction_bits) {
  if (x.kind != Kind::finite) return 0;
  const int up = fraction_bits - x.fraction_bits - (top - x.exponent);
  const std::uint64_t units = up >= 0 ? x.significand << up : up > -64 ? x.significand >> -up : 0;
  return x.negative ? -static_cast<std::int64_t>(units) : static_cast<std::int64_t>(units);
}

/// Which NaNs and infinities are among the terms of a sum, and what the sum then is.
struct SpecialTerms {
  bool nan = false, positive = false, negative = false;

  constexpr void add(const Addend& x) {
    nan = nan || x.kind == Kind::nan;
    positive = positive || (x.kind == Kind::infinite && !x.negative);
    negative = negative || (x.kind == Kind::infinite && x.negative);
  }
  constexpr bool any() const { return nan || positive || negative; }
  /// Returns the result in d's format, if any(). The bits of a NaN do not depend on the operands'
  /// NaNs.
  constexpr std::uint64_t bits(const Format& d, const EdgeRules& edges) const {
    const bool both = nan || (positive && negative);
    if (both) return nan_bits(d, edges.nan);
    return edges.no_infinity ? max_bits(d, negative) : infinity_bits(d, negative);
  }
};

/// Returns sum · 2^exponent, rounded to the model's grid, as an encoding of d. Unless the model's
/// edges say otherwise, a zero is +0, also if a negative sum was rounded to it (rows of an H100,
/// tests/recordings/sm_90), and a sum beyond the range is an infinity in every rounding.
BINADE_OUT_OF_LINE constexpr std::uint64_t rounded_sum(std::int64_t sum, int exponent,
                                                       const DotModel& model, const Format& d) {
  if (sum == 0) return zero_bits(d, false);
  const bool negative = sum < 0;
  const auto unsigned_sum = static_cast<std::uint64_t>(sum);
  const Exact exact{.kind = Kind::finite,
                    .negative = negative,
                    .exponent = exponent,
                    .significand = negative ? std::uint64_t{0} - unsigned_sum : unsigned_sum};
  const Projected out = project(exact, model.grid, {.rounding = model.rounding});
  const EdgeRules& edges = model.edges;
  if ((out.flags & Flag::overflow) != 0) {
    return edges.saturates ? max_bits(d, negative) : infinity_bits(d, negative);
  }
  const bool flushed = edges.flushes && fields_of(out.bits, model.grid).exponent == 0;
  if (out.bits == zero_bits(model.grid, negative) || flushed) {
    return zero_bits(d, negative && edges.cut_keeps_sign);
  }
  return model.grid == d ? out.bits : convert(out.bits, model.grid, d).bits;
}

/// Returns whether all n terms and c are -0.
template <class Term>
constexpr bool all_minus_zero(const Addend& c, int n, const Term& term) {
  bool out = c.kind == Kind::zero && c.negative;
  for (int i = 0; i < n; ++i) {
    const Addend x = term(i);
    out = out && x.kind == Kind::zero && x.negative;
  }
  return out;
}

/// Returns d of one fused block: c, a number of `from`, plus the terms term(i), 0 <= i < n, whose
/// places are place(i). Under a `zero_raises` other than never, a term that is zero has the
/// exponent with which it counts.
template <class Term, class Place, class Trace = NoTrace>
constexpr std::uint64_t block_of_terms(const DotModel& model, std::uint64_t c, const Format& from,
                                       int n, const Term& term, const Place& place, const Format& d,
                                       const Trace& trace = {}) {
  const Addend addend = addend_of(c, from);
  SpecialTerms special;
  special.add(addend);
  const EdgeRules& edges = model.edges;
  int top = model.exponent_floor;
  const auto raise = [&top](bool counts, int exponent) {
    if (counts && exponent > top) top = exponent;
  };
  raise(addend.kind == Kind::finite, addend.exponent);
  raise(addend.kind == Kind::zero && edges.zero_c_raises, from.emin());
  const bool zeros_raise = edges.zero_raises != ZeroRaises::never;
  for (int i = 0; i < n; ++i) {
    const Addend x = term(i);
    special.add(x);
    raise(x.kind == Kind::finite || (x.kind == Kind::zero && zeros_raise), x.exponent);
  }
  const auto cut = [&](const Addend& x, int at) {
    const std::int64_t units = special.any() ? 0 : aligned(x, top, model.fraction_bits);
    trace.term({at, x, units});
    return units;
  };
  std::int64_t sum = cut(addend, addend_place);
  for (int i = 0; i < n; ++i) sum += cut(term(i), place(i));
  const bool minus_zero = edges.zeros_keep_sign && all_minus_zero(addend, n, term);
  const std::uint64_t out = special.any() ? special.bits(d, edges)
                            : minus_zero  ? zero_bits(d, true)
                                          : rounded_sum(sum, top - model.fraction_bits, model, d);
  trace.block({top, model.exponent_floor, model.fraction_bits, sum, special.any(), d, out});
  return out;
}

/// Returns the exponent with which an operand counts in a product that is zero, under a
/// `zero_raises` other than never.
constexpr int counted_exponent(const EdgeRules& edges, std::uint64_t code, const Format& f) {
  const Addend x = addend_of(code, f);
  if (x.kind != Kind::zero) return x.exponent;
  return edges.zero_raises == ZeroRaises::single ? binary32.emin() : f.emin();
}

/// Returns d of one fused block: c plus n products a[index(i)]·b[index(i)], 0 <= i < n, all as
/// encodings.
template <class Code, class Index, class Trace = NoTrace>
constexpr std::uint64_t fused_block(const DotModel& model, const DotTypes& types, const Code* a,
                                    const Code* b, int n, const Index& index, std::uint64_t c,
                                    const Trace& trace = {}) {
  const bool minus = model.scales.minus_a != model.scales.minus_b;
  const auto product = [&](int i) {
    const std::uint64_t x = a[index(i)], y = b[index(i)];
    Addend out = product_of(addend_of(x, types.a), addend_of(y, types.b));
    out.negative = out.negative != minus;
    if (out.kind == Kind::zero) {
      out.exponent =
          counted_exponent(model.edges, x, types.a) + counted_exponent(model.edges, y, types.b);
    }
    return out;
  };
  return block_of_terms(model, c, types.c, n, product, index, types.d, trace);
}

/// Returns the types of a block once a c that is narrower than d is widened to d's type, by which
/// c's subnormal numbers become normal. It returns a value and does not assign in place, because
/// GCC 12 loses `types.c = types.d` behind a reference (ipa-modref with SRA).
constexpr DotTypes with_wide_c(const DotTypes& types) {
  return {types.a, types.b, fits_in(types.c, types.d) ? types.d : types.c, types.d};
}
/// Returns c as an encoding of with_wide_c(types).c.
constexpr std::uint64_t wide_c(const DotTypes& types, std::uint64_t c) {
  const bool widens = types.c != types.d && fits_in(types.c, types.d);
  return widens ? convert(c, types.c, types.d).bits : c;
}

/// Returns d of a chain of fused blocks over k products, where each block's d is the next block's
/// c. The last block may be shorter, which is the same as padding with +0, except under edges in
/// which zeros raise the top exponent or keep their sign. index(i) is the position of the i-th
/// operands in a and b; a model that is `descending` takes the highest i first.
template <class Code, class Index, class Trace = NoTrace>
constexpr std::uint64_t fused_chain(const DotModel& model, const DotTypes& narrow, const Code* a,
                                    const Code* b, int k, const Index& index, std::uint64_t c,
                                    const Trace& trace = {}) {
  const bool widens = !model.edges.narrow_c;
  if (widens) c = wide_c(narrow, c);
  DotTypes types = widens ? with_wide_c(narrow) : narrow;
  for (int first = 0; first < k; first += model.block) {
    const int n = k - first < model.block ? k - first : model.block;
    const int begin = model.descending ? k - 1 - first : first;
    const int step = model.descending ? -1 : 1;
    const auto at = [&](int i) { return index(begin + step * i); };
    c = fused_block(model, types, a, b, n, at, c, trace);
    types.c = types.d;
  }
  return c;
}

}  // namespace binade
