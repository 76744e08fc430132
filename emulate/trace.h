// SPDX-License-Identifier: Apache-2.0
//
// What a sum tells whoever watches it: each term as it is aligned and cut, each block's sum as it is
// rounded, each rounded operation beside the blocks. The sums of dot.h and gemm.h take a tracer as their
// last argument; without one nothing is told and nothing is spent.
#pragma once

#include <cstdint>

#include "emulate/arithmetic.h"
#include "emulate/format.h"

namespace binade {

/// A term of a fused sum, or its infinity or NaN: ±significand · 2^(exponent - fraction_bits).
/// Subnormal operands keep exponent emin, and products are not normalised.
struct Addend {
  Kind kind = Kind::zero;
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  int fraction_bits = 0;
};

/// The place of c, which is a block's first term; padding of a whole product has it too.
inline constexpr int addend_place = -1;

/// A term of a block. `place` is its k in the operands, or `addend_place`.
struct TracedTerm {
  int place = 0;
  Addend term{};
  std::int64_t units = 0;  ///< what is left of it, signed, in units of 2^(top - fraction_bits)
};

/// A block, after its terms: top is the exponent that they are aligned to, the largest of theirs and
/// of the model's floor.
struct TracedBlock {
  int top = 0;
  int exponent_floor = 0;
  int fraction_bits = 0;
  std::int64_t sum = 0;  ///< of units; 0 where a NaN or an infinity stands in its place
  bool special = false;
  Format to{};
  std::uint64_t result = 0;
};

/// Which part of a product an operation belongs to.
enum class Role : std::uint8_t {
  chain,    ///< of a recipe that is made of rounded operations
  c_last,   ///< c, added to a finished sum
  narrow,   ///< a sum or an accumulator into another format
  promote,  ///< a partial sum into the register beside the accumulator
  reduce,   ///< parts of k, added
  alpha,    ///< alpha times the sum, and what is fused with it
  beta,     ///< beta times C, and what is fused with it
  bias,
  output,  ///< into D's format
};

enum class Action : std::uint8_t { add, multiply, multiply_add, convert };

/// A rounded operation on encodings; of its operands, multiply_add has three, convert one.
struct TracedOperation {
  Role role = Role::chain;
  Action action = Action::add;
  int place = 0;  ///< k of the product, where there is one
  std::uint64_t operands[3]{};
  Format from[3]{};
  Format to{};
  std::uint64_t result = 0;
};

/// Where a piece of a product begins; with a mark stand the bits of the accumulator there.
enum class SumMark : std::uint8_t {
  zero,         ///< an accumulator or register at +0
  c,            ///< one that holds C
  instruction,  ///< one more instruction on the accumulator
};

struct NoTrace {
  constexpr void term(const TracedTerm&) const {}
  constexpr void block(const TracedBlock&) const {}
  constexpr void operation(const TracedOperation&) const {}
  constexpr void mark(SumMark, std::uint64_t) const {}
};

/// A tracer for operands that were gathered: `map` gives the place they came from.
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
