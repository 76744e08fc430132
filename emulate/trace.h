// SPDX-License-Identifier: Apache-2.0
//
// What a sum reports to a tracer: each term as it is aligned and cut, each block's sum as it is
// rounded, and each rounded operation outside the blocks. The sums of emulate/dot.h and
// emulate/gemm.h take a tracer as their last argument; the default, NoTrace, costs nothing. The
// calls for one fused block of n products:
//
//     term(c), term(a0·b0), …, term(a_{n-1}·b_{n-1}), block(sum)
//
//     term   5 + 2^-20     units = 10240    of 2^(top - fraction_bits) = 2^(2 - 13) (fused_sum.h)
#pragma once

#include <cstdint>
#include <optional>

#include "emulate/arithmetic.h"
#include "emulate/format.h"

namespace binade {

/// A term of a fused sum: ±significand · 2^(exponent - fraction_bits) if finite, else a zero, an
/// infinity or a NaN. Subnormal operands keep exponent emin, and products are not normalised:
///
///     1.75 · 1.75 in e4m3     11.000100     significand 196, exponent 0, fraction_bits 6
struct Addend {
  Kind kind = Kind::zero;
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  int fraction_bits = 0;
};

/// The place of c, which is a block's first term. Products that are padding have it too.
inline constexpr int addend_place = -1;

/// A term of a block. `place` is its position in k, or `addend_place`. `units` is 0 in a block that
/// is `special`.
struct TracedTerm {
  int place = 0;
  Addend term{};
  std::int64_t units = 0;  ///< the term after the cut, signed, in units of 2^(top - fraction_bits)
};

/// A block, reported after its terms. `top` is the exponent to which they are aligned: the largest
/// of their exponents and of the model's floor. A zero has an exponent only under EdgeRules that
/// give it one. Integers have `top` 0, and `sum` is their sum before it becomes 32 bits.
struct TracedBlock {
  int top = 0;
  int exponent_floor = 0;
  int fraction_bits = 0;
  std::int64_t sum = 0;  ///< of the terms' units; 0 if a term is a NaN or infinite
  bool special = false;  ///< whether a term is a NaN or infinite
  Format to{};           ///< of the result, which is an encoding
  std::uint64_t result = 0;
};

/// Which part of a matrix product an operation belongs to.
enum class Role : std::uint8_t {
  chain,    ///< in a recipe that rounds each operation
  c_last,   ///< c is added to a finished sum
  narrow,   ///< C, a sum or an accumulator is converted to another format
  promote,  ///< a partial sum, times scales, is added to the register beside the accumulator
  reduce,   ///< parts of k are converted or added
  scale,    ///< the sum, or the other scale, times a scale
  alpha,    ///< alpha, or the last scale, times the sum, with an addition if fused
  beta,     ///< beta times C, with an addition if fused
  bias,     ///< the bias is added
  relu,     ///< what is below +0 becomes +0
  output,   ///< the result is converted to D's format
};

/// What a rounded operation computes; `maximum` is exact.
enum class Action : std::uint8_t { add, multiply, multiply_add, convert, maximum };

/// A rounded operation on encodings. multiply_add has three operands, convert has one, the others
/// two.
struct TracedOperation {
  Role role = Role::chain;
  Action action = Action::add;
  int place = 0;  ///< position in k of the product; 0 outside a recipe (Role::chain)
  std::uint64_t operands[3]{};
  Format from[3]{};
  Format to{};
  std::uint64_t result = 0;
  std::optional<std::uint32_t> random{};  ///< what stochastic rounding drew
};

/// A point of a sum at which the tracer gets the encoding of the accumulator.
enum class SumMark : std::uint8_t {
  zero,         ///< an accumulator or register begins at +0
  c,            ///< an accumulator begins with C
  instruction,  ///< an instruction begins; the accumulator is its c
};

/// The tracer that ignores everything, and the interface of all tracers.
struct NoTrace {
  constexpr void term(const TracedTerm&) const {}
  constexpr void block(const TracedBlock&) const {}
  constexpr void operation(const TracedOperation&) const {}
  constexpr void mark(SumMark, std::uint64_t) const {}
};

/// A tracer for operands that were copied from other positions: it replaces each place of a product
/// by map(place), the position from which the operands came, and reports to `trace`. The places of
/// c and of operations outside a recipe stay.
template <class Trace, class Map>
struct PlacedTrace {
  const Trace& trace;
  const Map& map;

  constexpr void term(TracedTerm x) const {
    if (x.place >= 0) x.place = map(x.place);
    trace.term(x);
  }
  constexpr void block(const TracedBlock& x) const { trace.block(x); }
  constexpr void operation(TracedOperation x) const {
    if (x.role == Role::chain) x.place = map(x.place);
    trace.operation(x);
  }
  constexpr void mark(SumMark x, std::uint64_t bits) const { trace.mark(x, bits); }
};
template <class Trace, class Map>
PlacedTrace(const Trace&, const Map&) -> PlacedTrace<Trace, Map>;

}  // namespace binade
