// SPDX-License-Identifier: Apache-2.0
//
// Operands of one lane of a scalar instruction, made from random words so that the result is hard
// to round: ties and their neighbours, cancellation, results at the ends of the range, infinities
// and NaNs. All is constexpr, because a GPU makes the same operands; aims.h makes more kinds of
// them and runs on the host only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulate/philox.h"
#include "lib/instruction/scalar_instruction.h"

namespace binade {

/// Returns x under a permutation of the 64-bit integers in which every bit of the result depends on
/// every bit of the argument: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

/// The random words of one case. A Philox block that (seed, case number) names is the state of a
/// SplitMix64 generator, which gives as many words as are drawn.
class CaseDraw {
 public:
  constexpr CaseDraw(std::uint64_t seed, std::uint64_t number) {
    const auto block = philox4x32(
        {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), 0, 0},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    state_ = std::uint64_t{block[1]} << 32 | block[0];
    step_ = std::uint64_t{block[3]} << 32 | block[2] | 1;
  }

  constexpr std::uint64_t word() { return mixed(state_ += step_); }
  /// Returns n random bits, n from 1 to 64.
  constexpr std::uint64_t bits(int n) { return word() >> (64 - n); }
  /// Returns an integer of [low, high].
  constexpr int between(int low, int high) {
    const auto range = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<int>((word() >> 32) * range >> 32);
  }

 private:
  std::uint64_t state_ = 0, step_ = 1;
};

/// Returns the encoding `step` places after `bits`, with its sign kept; magnitudes wrap around from
/// the last encoding to zero.
constexpr std::uint64_t beside(std::uint64_t bits, int step, const Format& f) {
  const std::uint64_t mask = (std::uint64_t{1} << (f.exponent_bits + f.fraction_bits())) - 1;
  return (bits & ~mask) | ((bits + static_cast<std::uint64_t>(step)) & mask);
}

/// Returns the encoding of ±1.fraction · 2^e. Bits that a subnormal number cannot hold are cut off,
/// and an exponent outside the range is replaced by the nearest end of the range. In a format whose
/// last encodings are infinities or NaNs of the largest binade, as e4m3's, the fractions of those
/// at emax give them.
constexpr std::uint64_t number_bits(const Format& f, bool negative, int e, std::uint64_t fraction) {
  const int lowest = f.has_subnormals() ? f.quantum_exponent() : f.emin();
  e = e < lowest ? lowest : e > f.emax() ? f.emax() : e;
  fraction &= f.fraction_mask();
  if (e >= f.emin())
    return bits_of({negative, static_cast<std::uint64_t>(e + f.bias), fraction}, f);
  const std::uint64_t significand = fraction | (std::uint64_t{1} << f.fraction_bits());
  return bits_of({negative, 0, significand >> (f.emin() - e)}, f);
}

/// Returns a number from 2^e to below 2^(e + 1). Half of the fractions are random, a quarter are
/// cut to a random number of leading bits, and a quarter have so many leading ones, then random
/// bits.
constexpr std::uint64_t some_number(CaseDraw& draw, const Format& f, int e) {
  const std::uint64_t random = draw.word();
  const auto style = static_cast<int>(random >> 62);
  const int kept = draw.between(0, f.fraction_bits());
  const std::uint64_t low = f.fraction_mask() >> kept;
  std::uint64_t fraction = random & f.fraction_mask();
  if (style == 2) fraction &= ~low;
  if (style == 3) fraction |= f.fraction_mask() & ~low;
  return number_bits(f, (random >> 61 & 1) != 0, e, fraction);
}

/// Returns an encoding with the lowest or highest exponent fields (of zeros and subnormals, of
/// infinities and NaNs), their neighbours or the one of 1, and a fraction of no bits, only the
/// lowest or only the highest, all bits, or random bits.
constexpr std::uint64_t special(CaseDraw& draw, const Format& f) {
  const std::uint64_t top = f.exponent_mask();
  const std::array<std::uint64_t, 6> fields{
      0, 0, 1, static_cast<std::uint64_t>(f.bias) & top, top - 1, top};
  const std::uint64_t random = draw.word();
  const std::array<std::uint64_t, 6> fractions{
      0, 0, 1, f.fraction_mask(), (f.fraction_mask() >> 1) + 1, random & f.fraction_mask()};
  const auto field = fields[static_cast<std::size_t>(draw.between(0, 5))];
  const auto fraction = fractions[static_cast<std::size_t>(draw.between(0, 5))];
  return bits_of({random >> 63 != 0, field, fraction & f.fraction_mask()}, f);
}

constexpr int some_exponent(CaseDraw& draw, const Format& f) {
  return draw.between(f.quantum_exponent(), f.emax());
}

/// Returns an exponent near which results become subnormal, round to zero or overflow.
constexpr int end_of_range(CaseDraw& draw, const Format& f) {
  const bool top = draw.bits(1) != 0;
  return top ? draw.between(f.emax() - 1, f.emax() + 1)
             : draw.between(f.quantum_exponent() - 3, f.emin() + 1);
}

/// Returns a number of f that lies halfway between two numbers of `to` or (one in four) at one of
/// them, or is a neighbour of that; a random number where `to` holds all of f's bits.
constexpr std::uint64_t midpoint(CaseDraw& draw, const Format& f, const Format& to) {
  const int e = draw.between(to.quantum_exponent() - 3, to.emax() + 1);
  const int below = e < to.emin() ? to.emin() - e : 0;
  const int rest = f.fraction_bits() - (to.fraction_bits() - below);  // bits that are cut off
  const bool negative = draw.bits(1) != 0;
  const std::uint64_t random = draw.word();
  if (rest < 1) return number_bits(f, negative, e, random);
  if (rest > f.fraction_bits()) {  // 2^e is half of the smallest number of `to`, or less
    return beside(number_bits(f, negative, e, 0), draw.between(-1, 1), f);
  }
  const std::uint64_t cut = (std::uint64_t{1} << rest) - 1;
  const std::uint64_t half = draw.between(0, 3) == 0 ? 0 : cut / 2 + 1;
  const std::uint64_t bits = number_bits(f, negative, e, (random & ~cut) | half);
  return beside(bits, draw.between(-1, 1), f);
}

/// Sets a and b so that their product is near 2^e and its significand has exactly one bit more than
/// the result holds.
constexpr void product_tie(CaseDraw& draw, const ScalarOperation& x, int e, Operands& out) {
  const int p = x.result.precision;
  const int first = draw.between(1, p - 1);  // bits of a below its highest; b has the others of p
  const std::array<int, 2> widths{first, p - first};
  const std::array<int, 2> exponents{draw.between(x.from[0].emin() / 2, x.from[0].emax() / 2), 0};
  for (std::size_t i = 0; i < 2; ++i) {
    const Format& f = x.from[i];
    const int unused = f.fraction_bits() - widths[i];
    const std::uint64_t random = draw.word();
    const std::uint64_t odd = unused >= 0 ? (random | 1) << unused : random;
    const int at = i == 0 ? exponents[0] : e - exponents[0];
    out[i] = number_bits(f, random >> 63 != 0, at, odd);
  }
}

/// Sets a and b so that their product is near 2^e.
constexpr void product_near(CaseDraw& draw, const ScalarOperation& x, int e, Operands& out) {
  const int low = e - x.from[1].emax(), high = e - x.from[1].quantum_exponent();
  const Format& f = x.from[0];
  const int least = low > f.quantum_exponent() ? low : f.quantum_exponent();
  const int most = high < f.emax() ? high : f.emax();
  const int first = draw.between(least < most ? least : most, most);
  out[0] = some_number(draw, f, first);
  out[1] = some_number(draw, x.from[1], e - first);
}

/// Returns the encoding of -x, rounded toward zero.
constexpr std::uint64_t opposite(const Exact& x, const Format& f) {
  const Attributes nearest{.rounding = Rounding::toward_zero, .saturation = Saturation::finite};
  return project(negated(x), f, nearest).bits;
}

/// The kinds of operands: any encodings (`random`); encodings like zeros, infinities and NaNs
/// (`specials`); sums of numbers with exponents near each other and products of any size (`near`);
/// results at the ends of the range (`ends`), ties, and cancellation.
enum class ScalarAim : std::uint8_t { random, specials, near, ends, ties, cancellation };

/// Returns the aim of a case. 32 neighbouring cases have the same one, so that the 32 threads of a
/// warp take the same branches.
constexpr ScalarAim aim_of(std::uint64_t number) {
  using enum ScalarAim;
  constexpr std::array<ScalarAim, 8> turns{random, near, ties, cancellation,
                                           random, ends, near, specials};
  return turns[static_cast<std::size_t>(number >> 5 & 7)];
}

/// Sets the operands of a sum, a difference, a minimum or a maximum.
constexpr void aimed_sum(CaseDraw& draw, const ScalarOperation& x, ScalarAim aim, Operands& out) {
  const int p = x.result.precision;
  const int e =
      aim == ScalarAim::ends ? end_of_range(draw, x.result) : some_exponent(draw, x.from[0]);
  out[0] = some_number(draw, x.from[0], e);
  if (aim == ScalarAim::cancellation) {
    out[1] = beside(opposite(decode(out[0], x.from[0]), x.from[1]), draw.between(-2, 2), x.from[1]);
    if (draw.bits(1) != 0) out[1] ^= std::uint64_t{1} << (x.from[1].bits() - 1);
  } else if (aim == ScalarAim::ties) {
    const std::uint64_t half = number_bits(x.from[1], draw.bits(1) != 0, e - p, 0);
    out[1] = beside(half, draw.between(-1, 1), x.from[1]);
  } else {
    out[1] = some_number(draw, x.from[1], e + draw.between(-p - 2, p + 2));
  }
}

/// Sets the operands of a product or a fused multiply-add.
constexpr void aimed_product(CaseDraw& draw, const ScalarOperation& x, ScalarAim aim,
                             Operands& out) {
  const int e =
      aim == ScalarAim::ends ? end_of_range(draw, x.result) : some_exponent(draw, x.result);
  aim == ScalarAim::ties ? product_tie(draw, x, e, out) : product_near(draw, x, e, out);
  if (x.inputs < 3) return;
  const int p = x.result.precision;
  if (aim == ScalarAim::cancellation) {
    const Exact product = multiply(decode(out[0], x.from[0]), decode(out[1], x.from[1]));
    out[2] = beside(opposite(product, x.from[2]), draw.between(-2, 2), x.from[2]);
  } else {  // where the product is a tie, the addend decides how it rounds
    const int above = aim == ScalarAim::ties ? -p - 1 : p + 3;
    out[2] = some_number(draw, x.from[2], e + draw.between(-2 * p - 3, above));
  }
}

/// Returns the inputs of one lane, made for an aim. A single input is a midpoint for every aim but
/// random and specials.
constexpr Operands draw_inputs(CaseDraw& draw, const ScalarOperation& x, ScalarAim aim) {
  Operands out{};
  const bool product = x.inputs > 1 && !x.arithmetic.extremum &&
                       (x.arithmetic.operation == Operation::multiply || x.inputs == 3);
  if (aim == ScalarAim::random || aim == ScalarAim::specials) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.inputs); ++i) {
      const bool any = aim == ScalarAim::random || (x.inputs > 1 && draw.bits(1) != 0);
      out[i] = any ? draw.bits(x.from[i].bits()) : special(draw, x.from[i]);
    }
  } else if (x.inputs == 1) {
    out[0] = midpoint(draw, x.from[0], x.result);
  } else if (product) {
    aimed_product(draw, x, aim, out);
  } else {
    aimed_sum(draw, x, aim, out);
  }
  return out;
}

}  // namespace binade
