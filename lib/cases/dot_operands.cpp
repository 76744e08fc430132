// SPDX-License-Identifier: Apache-2.0
//
// The parts of which generated dot products are made. Each draw is a statement of its own, because
// the order of draws is part of what a seed means.
#include "lib/cases/dot_operands.h"

#include <algorithm>

#include "emulate/operation.h"

namespace binade {

std::uint64_t nearest(const Exact& x, const Format& f) {
  return project(x, f, {.saturation = Saturation::finite}).bits;
}

std::uint64_t normal_number(Draw& draw, const Format& f) {
  std::uint64_t sum = 0;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t word = draw.bits(32);
    sum += (word & 0xFFFF) + (word >> 16);
  }
  // The mean of twelve words, 2^15 - 1/2 each, and of a fraction, 1/2 - 2^-33, in units of 2^-32.
  constexpr std::int64_t mean = (std::int64_t{12 * 32768 - 6} << 32) + (std::int64_t{1} << 31);
  const std::int64_t units = static_cast<std::int64_t>(sum << 32 | draw.bits(32)) - mean;
  const bool negative = units < 0;
  return nearest({.kind = units == 0 ? Kind::zero : Kind::finite,
                  .negative = negative,
                  .exponent = -48,
                  .significand = static_cast<std::uint64_t>(negative ? -units : units)},
                 f);
}

void fill_normal(DotCase& out, Draw& draw, const Instruction& how) {
  for (int i = 0; i < how.k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.a[at] = normal_number(draw, how.types.a);
    out.b[at] = normal_number(draw, how.types.b);
  }
  out.c = normal_number(draw, how.types.c);
}

std::uint64_t any_encoding(Draw& draw, const Format& f, bool finite) {
  const std::uint64_t bits = draw.bits(f.bits()) << f.padding_bits;
  const Kind kind = decode(bits, f).kind;
  const bool special = kind == Kind::nan || kind == Kind::infinite;
  const int top_exponent_bit = f.bits() - 2 + f.padding_bits;
  return finite && special ? bits & ~(std::uint64_t{1} << top_exponent_bit) : bits;
}

std::uint64_t number_at(Draw& draw, const Format& f, int e) {
  return encoded(some_number(draw, f, e), f);
}

std::uint64_t some_zero(Draw& draw, const Format& f) { return zero_bits(f, draw.flip()); }

std::uint64_t some_nan(Draw& draw, const Format& f) {
  const bool negative = draw.flip();
  const std::uint64_t payload = draw.bits(f.precision) & f.fraction_mask();
  if (f.specials == Specials::ieee) {
    const std::uint64_t fraction = payload != 0 ? payload : 1;
    return bits_of({negative, f.exponent_mask(), fraction}, f);
  }
  if (!f.has_nan()) return max_bits(f, negative);
  return nan_bits(f, NanResult::propagate, negative);
}

std::uint64_t infinity_of(const Format& f, bool negative) {
  if (f.has_infinity()) return infinity_bits(f, negative);
  return f.has_nan() ? nan_bits(f, NanResult::propagate, negative) : max_bits(f, negative);
}

ExponentRange product_exponents(const DotTypes& types, bool with_subnormals) {
  const auto low = [&](const Format& f) {
    return with_subnormals ? f.quantum_exponent() : f.emin();
  };
  return {low(types.a) + low(types.b), types.a.emax() + types.b.emax()};
}

void set_product(DotCase& out, int i, Draw& draw, const DotTypes& types, int e,
                 bool with_subnormals) {
  const auto low = [&](const Format& f) {
    return with_subnormals ? f.quantum_exponent() : f.emin();
  };
  const int first = std::max(low(types.a), e - types.b.emax());
  const int left = draw.between(first, std::min(types.a.emax(), e - low(types.b)));
  const auto at = static_cast<std::size_t>(i);
  out.a[at] = number_at(draw, types.a, left);
  out.b[at] = number_at(draw, types.b, e - left);
}

void set_power(DotCase& out, int i, const DotTypes& types, int e, bool negative,
               ExponentSplit split) {
  const int low = std::max(types.a.quantum_exponent(), e - types.b.emax());
  const int high = std::max(low, std::min(types.a.emax(), e - types.b.quantum_exponent()));
  const int left = split == ExponentSplit::lowest_a ? low : std::clamp(e / 2, low, high);
  Exact a = power(left);
  a.negative = negative;
  const auto at = static_cast<std::size_t>(i);
  out.a[at] = encoded(a, types.a);
  out.b[at] = encoded(power(e - left), types.b);
}

int cancel_halves(DotCase& out, Draw& draw, const Instruction& how) {
  const int half = how.k / 2;
  const int turn = draw.between(0, half - 1);
  for (int i = 0; i < half; ++i) {
    const auto from = static_cast<std::size_t>(i);
    const auto to = static_cast<std::size_t>(half + (i + turn) % half);
    out.a[to] = out.a[from];
    out.b[to] = opposite(out.b[from], how.types.b);
  }
  return half + turn;
}

std::uint64_t minus_sum(const DotCase& x, const Instruction& how) {
  const DotTypes& t = how.types;
  std::uint64_t sum = 0;
  for (int i = 0; i < how.k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    sum = compute(Operation::multiply_add, {x.a[at], x.b[at], sum}, {t.a, t.b, binary64}, binary64,
                  {})
              .bits;
  }
  return nearest(negated(decode(sum, binary64)), t.c);
}

TwoPlaces two_places(Draw& draw, int k) {
  const int i = draw.between(0, k - 1);
  const int step = draw.between(1, std::max(1, k - 1));
  return {i, (i + step) % k};
}

}  // namespace binade
