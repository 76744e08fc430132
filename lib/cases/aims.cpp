// SPDX-License-Identifier: Apache-2.0
//
// The aims and their table. Each aim is a few lines of arithmetic on exact numbers.
#include "lib/cases/aims.h"

#include <algorithm>

#include "emulate/philox.h"
#include "emulate/project.h"

namespace binade {
namespace {

/// Returns the encoding `step` places after `bits`, with its sign kept. The result may be an
/// infinity or a NaN; exponent and fraction together wrap within their fields.
std::uint64_t moved(std::uint64_t bits, int step, const Format& f) {
  const int width = f.exponent_bits + f.fraction_bits();
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  const std::uint64_t all = bits >> f.padding_bits;
  const std::uint64_t next = (all + static_cast<std::uint64_t>(step)) & mask;
  return ((all & ~mask) | next) << f.padding_bits;
}

/// Returns `bits` or one of the `steps` encodings next to it on either side. It draws after its
/// arguments are evaluated, so that the order of draws does not depend on the compiler.
std::uint64_t beside(Draw& draw, std::uint64_t bits, const Format& f, int steps = 1) {
  return moved(bits, draw.between(-steps, steps), f);
}

/// The smaller operand is half an ulp of the larger one in the result's format, or a neighbour of
/// that.
Operands sum_tie(Draw& draw, const Target& t) {
  const int e = some_exponent(draw, t.to);
  Exact half = power(e - t.to.precision);
  half.negative = draw.flip();
  return {encoded(some_number(draw, t.to, e), t.from[0]),
          beside(draw, encoded(half, t.from[1]), t.from[1])};
}

/// The smaller operand lies near half an ulp of the larger one, or up to 130 binades below that.
Operands sum_far_apart(Draw& draw, const Target& t) {
  const int e = some_exponent(draw, t.to);
  const int below = draw.flip() ? draw.between(-2, 3) : draw.between(3, 130);
  const Exact large = some_number(draw, t.to, e);
  const Exact small = some_number(draw, t.to, e - t.to.precision - below);
  const bool first = draw.flip();
  return {encoded(first ? large : small, t.from[0]), encoded(first ? small : large, t.from[1])};
}

/// One operand is the largest number; the other is the half ulp that makes the sum overflow when it
/// is rounded to nearest, or a neighbour of that.
Operands sum_overflows(Draw& draw, const Target& t) {
  Exact half = power(t.to.emax() - t.to.precision);
  half.negative = draw.flip();
  const Exact max = decode(max_bits(t.to, draw.flip()), t.to);
  return {encoded(max, t.from[0]), beside(draw, encoded(half, t.from[1]), t.from[1])};
}

Operands sum_cancels(Draw& draw, const Target& t) {
  const Exact x = some_number(draw, t.to, some_exponent(draw, t.to));
  const std::uint64_t b = beside(draw, encoded(x, t.from[1]), t.from[1], 2);
  return {encoded(x, t.from[0]), draw.flip() ? b : opposite(b, t.from[1])};
}

Operands sum_at_an_end(Draw& draw, const Target& t) {
  const bool top = draw.flip();
  const int e = top ? t.to.emax() - draw.between(0, 1) : t.to.emin() + draw.between(0, 2);
  const int near = top ? e - draw.between(0, t.to.precision + 1) : e - draw.between(-1, 2);
  return {encoded(some_number(draw, t.to, e), t.from[0]),
          encoded(some_number(draw, t.to, near), t.from[1])};
}

/// The product has exactly one significant bit more than the result holds.
Operands product_tie(Draw& draw, const Target& t) {
  const int k = draw.between(1, t.to.precision);
  const int e = some_exponent(draw, t.to);
  const int left = draw.between(std::max(e - t.from[1].emax(), t.from[0].emin()),
                                std::min(e - t.from[1].emin(), t.from[0].emax()));
  return {encoded(odd_number(draw, k, left), t.from[0]),
          encoded(odd_number(draw, t.to.precision + 1 - k, e - left), t.from[1])};
}

/// The product, or with `divide` the quotient, has an exponent near `e`.
Operands scaled_to(Draw& draw, const Target& t, int e, bool divide) {
  const int low = divide ? e + t.from[1].emin() : e - t.from[1].emax();
  const int high = divide ? e + t.from[1].emax() : e - t.from[1].emin();
  const int left = draw.between(std::max(low, t.from[0].emin()), std::min(high, t.from[0].emax()));
  return {encoded(some_number(draw, t.from[0], left), t.from[0]),
          encoded(some_number(draw, t.from[1], divide ? left - e : e - left), t.from[1])};
}

template <bool divide>
Operands subnormal_result(Draw& draw, const Target& t) {
  return scaled_to(draw, t, t.to.emin() + draw.between(-t.to.precision - 2, 1), divide);
}

template <bool divide>
Operands overflowing_result(Draw& draw, const Target& t) {
  return scaled_to(draw, t, t.to.emax() + draw.between(-1, 2), divide);
}

/// The product or quotient lies just below, at or just above the smallest normal number: 2^emin
/// times (or over) 1 ± a few ulps.
template <bool divide>
Operands at_smallest_normal(Draw& draw, const Target& t) {
  const int shift = draw.between(0, std::max(0, t.from[1].emax() / 2));
  const std::uint64_t a = encoded(power(t.to.emin() + shift), t.from[0]);
  const std::uint64_t b = encoded(power(divide ? shift : -shift), t.from[1]);
  return {beside(draw, a, t.from[0], 3), beside(draw, b, t.from[1], 3)};
}

/// The operands are about q · b, and b, for a q of few bits: the quotient is exact, halfway between
/// two subnormals, or near that.
Operands product_and_factor(Draw& draw, const Target& t) {
  const int e =
      draw.flip() ? some_exponent(draw, t.to) : t.to.emin() + draw.between(-t.to.precision, 0);
  const Exact q = odd_number(draw, draw.between(1, std::max(1, t.to.precision / 2)), e);
  const int k = draw.between(1, std::max(1, t.from[1].precision / 2));
  const Exact b = odd_number(draw, k, some_exponent(draw, t.from[1]));
  return {beside(draw, encoded(multiply(q, b), t.from[0]), t.from[0]), encoded(b, t.from[1])};
}

/// The dividend is n · b or (n + 1/2) · b, or a neighbour of that, and the divisor is b.
Operands halves_of_divisor(Draw& draw, const Target& t) {
  const int k = draw.between(1, std::max(1, t.from[0].precision / 2));
  const Exact n = odd_number(draw, k, draw.between(-1, k));
  const Exact b =
      odd_number(draw, std::max(1, t.from[1].precision / 2 - 1), some_exponent(draw, t.from[1]));
  return {beside(draw, encoded(multiply(n, b), t.from[0]), t.from[0]), encoded(b, t.from[1])};
}

Operands square(Draw& draw, const Target& t) {
  const int k = draw.between(1, t.to.precision);
  const int e = draw.between(t.from[0].quantum_exponent() / 2, t.from[0].emax() / 2);
  const Exact r = odd_number(draw, k, e);
  Exact squared = multiply(r, r);
  squared.negative = false;
  return {beside(draw, encoded(squared, t.from[0]), t.from[0])};
}

/// Returns factors of half as many bits as the third operand's format holds, so that it holds their
/// product, whose exponent is about e.
Operands short_factors(Draw& draw, const Target& t, int e) {
  const int left = draw.between(std::max(e - t.from[1].emax(), t.from[0].emin()),
                                std::min(e - t.from[1].emin(), t.from[0].emax()));
  const int k = std::max(1, t.from[2].precision / 2);
  const Exact a = odd_number(draw, k, left);
  return {encoded(a, t.from[0]), encoded(odd_number(draw, k, e - left), t.from[1])};
}

/// The third operand is about minus the product, or about half an ulp of the product.
Operands fused_cancels(Draw& draw, const Target& t) {
  const int e = some_exponent(draw, t.to);
  Operands out = draw.flip() ? scaled_to(draw, t, e, false) : short_factors(draw, t, e);
  Exact product = multiply(decode(out[0], t.from[0]), decode(out[1], t.from[1]));
  if (product.kind != Kind::finite) return out;
  if (draw.flip()) {
    product = power(product.exponent + bit_width(product.significand) - 1 - t.to.precision);
    product.negative = draw.flip();
  } else {
    product.negative = !product.negative;
  }
  out[2] = beside(draw, encoded(product, t.from[2]), t.from[2]);
  return out;
}

/// The product is half an ulp of the third operand, near that, or far below it.
Operands fused_tie(Draw& draw, const Target& t) {
  const int e = some_exponent(draw, t.to);
  const int below = draw.flip() ? 0 : draw.between(-2, 130);
  const int left = draw.between(t.from[0].emin(), t.from[0].emax());
  const int k = below == 0 && draw.flip() ? 1 : draw.between(1, t.from[1].precision);
  return {encoded(below == 0 ? power(left) : odd_number(draw, k, left), t.from[0]),
          beside(draw, encoded(odd_number(draw, k, e - t.to.precision - below - left), t.from[1]),
                 t.from[1]),
          encoded(some_number(draw, t.to, e), t.from[2])};
}

/// The product lies at an end of the range, and the third operand is of about its size.
Operands fused_at_an_end(Draw& draw, const Target& t) {
  const bool top = draw.flip();
  const int e =
      top ? t.to.emax() + draw.between(-1, 2) : t.to.emin() + draw.between(-t.to.precision - 2, 1);
  Operands out = scaled_to(draw, t, e, false);
  out[2] = encoded(some_number(draw, t.from[2], e - draw.between(-1, t.to.precision)), t.from[2]);
  return out;
}

/// The third operand is the largest number, and the product is the half ulp that makes the sum
/// overflow, or near it.
Operands fused_overflows(Draw& draw, const Target& t) {
  const int e = t.to.emax() - t.to.precision;
  const int left = draw.between(std::max(t.from[0].emin(), e - t.from[1].emax()),
                                std::min(t.from[0].emax(), e - t.from[1].emin()));
  const std::uint64_t a = encoded(power(left), t.from[0]);
  const std::uint64_t b = beside(draw, encoded(power(e - left), t.from[1]), t.from[1]);
  const bool negative = draw.flip() && t.from[2].has_sign && t.from[0].has_sign;
  return {negative ? opposite(a, t.from[0]) : a, b,
          encoded(decode(max_bits(t.to, negative), t.to), t.from[2])};
}

/// The operand is n, n + 1/2 or a neighbour of one of them, for an integer n.
Operands half_integer(Draw& draw, const Target& t) {
  const int k = draw.between(1, t.from[0].precision);
  const Exact x = odd_number(draw, k, draw.between(-2, std::min(66, t.from[0].emax())));
  Exact half = x;
  const int width = bit_width(x.significand);
  half.exponent = draw.flip() ? -1 : x.exponent;
  if (width - 1 + half.exponent > t.from[0].emax()) half.exponent = x.exponent;
  return {beside(draw, encoded(half, t.from[0]), t.from[0])};
}

/// The operand is an end of the integer type, or up to 3/2 from it in steps of 1/2, or a neighbour
/// of such a number.
Operands integer_end(Draw& draw, const Target& t) {
  const bool negative = draw.flip();
  const uint128 limit = t.integer.limit(negative);
  const int halves = draw.between(-3, 3);
  Exact end{.kind = Kind::finite,
            .negative = negative,
            .exponent = -1,
            .significand = 2 * limit + static_cast<uint128>(halves + 4) - 4};
  if (2 * limit < 4 && halves <= 0) end = power(-1);  // the lower end of unsigned types is 0
  const std::uint64_t bits = encoded(end, t.from[0]);
  return {draw.flip() ? bits : beside(draw, bits, t.from[0])};
}

/// The operand is an integer with one significant bit more than the result's precision and zeros
/// below them, or an integer next to it.
Operands integer_tie(Draw& draw, const Target& t) {
  const int width = draw.between(1, t.integer.bits);
  const int keep = std::min(width, t.to.precision + 1);
  const std::uint64_t top = std::uint64_t{1} << (keep - 1);
  const std::uint64_t x = (draw.bits(keep) | top | 1) << (width - keep);
  const std::uint64_t y = x + static_cast<std::uint64_t>(draw.between(-1, 1));
  return {(draw.flip() ? std::uint64_t{0} - y : y) & t.integer.mask()};
}

/// Returns a number of the result's format: any, a subnormal, or one at an end of the range. A zero
/// is returned as a finite number with significand 0, so that the caller can add half a place to
/// it.
Exact number_to_split(Draw& draw, const Format& f) {
  const int places = draw.between(0, 2);
  const std::uint64_t last = max_bits(f, false) >> f.padding_bits;
  const std::uint64_t ends[] = {static_cast<std::uint64_t>(places),
                                last - static_cast<std::uint64_t>(places)};
  const int kind = draw.between(0, 3);
  const std::uint64_t raw = kind == 0   ? draw.bits(f.bits()) % (last + 1)
                            : kind == 1 ? draw.bits(f.bits()) & f.fraction_mask()
                                        : ends[kind - 2];
  Exact x = decode(raw << f.padding_bits, f);
  if (x.kind == Kind::zero) x = {.kind = Kind::finite, .exponent = f.quantum_exponent()};
  x.negative = draw.flip();
  return x;
}

/// The operand lies halfway between two numbers of the result's format, at one of its numbers, or
/// so little below the smallest normal number that rounding to the format's precision with an
/// unbounded exponent gives that number (where tininess before and after rounding differ); or it is
/// a neighbour.
Operands midpoint(Draw& draw, const Target& t) {
  Exact x = number_to_split(draw, t.to);
  x.significand = 2 * x.significand + (draw.flip() ? 1 : 0);
  x.exponent -= 1;
  if (draw.between(0, 7) == 0) {
    const int ones = t.to.precision + draw.between(0, 3);
    x.significand = (std::uint64_t{1} << ones) - 1;
    x.exponent = t.to.emin() - ones;
  }
  if (x.significand == 0) x.kind = Kind::zero;
  return {beside(draw, encoded(x, t.from[0]), t.from[0])};
}

Operands neighbours(Draw& draw, const Target& t) {
  const Exact x = some_number(draw, t.from[0], some_exponent(draw, t.from[0]));
  const std::uint64_t b = beside(draw, encoded(x, t.from[1]), t.from[1]);
  return {encoded(x, t.from[0]), draw.flip() ? b : opposite(b, t.from[1])};
}

using Aim = decltype(AimedAt::aim);

constexpr AimedAt arithmetic(Operation operation, Aim aim) {
  return {Act::arithmetic, operation, aim};
}
constexpr AimedAt other(Act act, Aim aim) { return {act, Operation::add, aim}; }

const AimedAt aim_table[] = {
    arithmetic(Operation::add, sum_tie),
    arithmetic(Operation::add, sum_far_apart),
    arithmetic(Operation::add, sum_cancels),
    arithmetic(Operation::add, sum_at_an_end),
    arithmetic(Operation::add, sum_overflows),
    arithmetic(Operation::subtract, sum_tie),
    arithmetic(Operation::subtract, sum_far_apart),
    arithmetic(Operation::subtract, sum_cancels),
    arithmetic(Operation::subtract, sum_at_an_end),
    arithmetic(Operation::subtract, sum_overflows),
    arithmetic(Operation::multiply, product_tie),
    arithmetic(Operation::multiply, subnormal_result<false>),
    arithmetic(Operation::multiply, overflowing_result<false>),
    arithmetic(Operation::multiply, at_smallest_normal<false>),
    arithmetic(Operation::divide, product_and_factor),
    arithmetic(Operation::divide, subnormal_result<true>),
    arithmetic(Operation::divide, overflowing_result<true>),
    arithmetic(Operation::divide, at_smallest_normal<true>),
    arithmetic(Operation::remainder, halves_of_divisor),
    arithmetic(Operation::remainder, product_and_factor),
    arithmetic(Operation::remainder, neighbours),
    arithmetic(Operation::square_root, square),
    arithmetic(Operation::multiply_add, product_tie),
    arithmetic(Operation::multiply_add, fused_cancels),
    arithmetic(Operation::multiply_add, fused_tie),
    arithmetic(Operation::multiply_add, fused_at_an_end),
    arithmetic(Operation::multiply_add, fused_overflows),
    other(Act::round_to_integral, half_integer),
    other(Act::to_integer, half_integer),
    other(Act::to_integer, integer_end),
    other(Act::from_integer, integer_tie),
    other(Act::convert, midpoint),
    other(Act::compare, neighbours),
    other(Act::extremum, neighbours),
};

}  // namespace

std::uint64_t Draw::bits(int n) {
  const std::uint64_t low = random_word(seed_, stream_, index_++);
  const std::uint64_t high = n > 32 ? random_word(seed_, stream_, index_++) : 0;
  return n >= 64 ? high << 32 | low : (high << 32 | low) & ((std::uint64_t{1} << n) - 1);
}

int Draw::between(int low, int high) {
  if (high <= low) return low;
  return low + static_cast<int>(bits(31) % static_cast<std::uint64_t>(high - low + 1));
}

std::span<const AimedAt> aims() { return aim_table; }

std::uint64_t encoded(const Exact& x, const Format& f) {
  const Attributes nearest_in_range{.rounding = Rounding::toward_zero,
                                    .saturation = Saturation::finite};
  return project(x, f, nearest_in_range).bits;
}

std::uint64_t opposite(std::uint64_t bits, const Format& f) {
  return f.has_sign ? bits ^ std::uint64_t{1} << (f.bits() - 1 + f.padding_bits) : bits;
}

Exact odd_number(Draw& draw, int count, int e) {
  count = std::clamp(count, 1, 64);
  const std::uint64_t top = std::uint64_t{1} << (count - 1);
  return {.kind = Kind::finite,
          .negative = draw.flip(),
          .exponent = e - (count - 1),
          .significand = draw.bits(count) | top | 1};
}

Exact power(int e) { return {.kind = Kind::finite, .exponent = e, .significand = 1}; }

int some_exponent(Draw& draw, const Format& f) { return draw.between(f.emin(), f.emax()); }

Exact some_number(Draw& draw, const Format& f, int e) {
  Exact out = odd_number(draw, f.precision, e);
  if (draw.flip()) out.significand ^= 1;
  if (out.significand == 0) out.significand = 1;
  return out;
}

}  // namespace binade
