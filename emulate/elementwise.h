// SPDX-License-Identifier: Apache-2.0
//
// An operation on every element of arrays, as a GPU's elementwise kernel does it, with exact counts
// of what happened. This is the definition; its twins in fast/ give the same bytes and counts.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "emulate/carrier.h"
#include "emulate/compare.h"
#include "emulate/event_count.h"
#include "emulate/operation.h"
#include "emulate/philox.h"

namespace binade {

/// out = operation(a, b, c), rounded once to `to`. Operands are taken exactly as they are; `from`
/// only says which of them count as subnormal under DAZ. Element i of stream s draws word i of
/// Philox stream s.
struct Elementwise {
  Operation operation = Operation::add;
  OperandFormats from{binary16, binary16, binary16};
  Format to = binary16;
  Attributes attributes = {};
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// One element to an encoding, counted. `index`: its place in its stream.
constexpr std::uint64_t elementwise_one(const std::array<Exact, 3>& operands, std::uint64_t index,
                                        const Elementwise& how, EventCounts& counts) {
  const Attributes& attributes = how.attributes;
  const auto count = static_cast<std::size_t>(operand_count(how.operation));
  std::array<Exact, 3> x = operands;
  Unrounded before;
  for (std::size_t i = 0; i < count; ++i) {
    before.nan_in = before.nan_in || x[i].kind == Kind::nan;
    before.inf_in = before.inf_in || x[i].kind == Kind::infinite;
    if (attributes.flush_operands && is_subnormal(x[i], how.from[i])) {
      x[i] = zero_of(x[i].negative);
      before.flushed = true;
    }
  }
  Exact exact = compute(how.operation, x[0], x[1], x[2], attributes.rounding);
  const std::uint32_t random =
      attributes.rounding == Rounding::stochastic ? random_word(how.seed, how.stream, index) : 0;
  const Projected out = project(exact, how.to, attributes, random);
  if (before.flushed) {
    const Exact flushed = exact;
    exact = compute(how.operation, operands[0], operands[1], operands[2], attributes.rounding);
    before.flushed = !same_result(flushed, exact);
  }
  before.nonzero = exact.kind != Kind::zero;
  count_event(before, out, how.to, attributes, counts);
  return out.bits;
}

/// a[i], b[i], c[i] to out[i], all of `n` elements, i counting from `first` in the stream; `out` may
/// be one of the operands. Arrays that the operation does not have are not read and may be null.
/// `to` must fit in T's format.
template <std::floating_point T>
constexpr void elementwise(const T* a, const T* b, const T* c, T* out, std::size_t n,
                           std::uint64_t first, const Elementwise& how, EventCounts& counts) {
  const int count = operand_count(how.operation);
  for (std::size_t i = 0; i < n; ++i) {
    const std::array<Exact, 3> operands{exact_of(a[i]), count > 1 ? exact_of(b[i]) : Exact{},
                                        count > 2 ? exact_of(c[i]) : Exact{}};
    out[i] = value_of<T>(elementwise_one(operands, first + i, how, counts), how.to);
  }
}

}  // namespace binade
