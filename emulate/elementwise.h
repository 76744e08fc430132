// SPDX-License-Identifier: Apache-2.0
//
// An operation on every element of arrays, as a GPU's elementwise kernel does it, with exact counts
// of what happened (event_count.h). These functions are the definition; the kernels of the same
// name in emulate/fast give the same bytes and counts.
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

/// out = operation(a, b, c), rounded once to `to`. Operands are not rounded; `from` only says in
/// which format each operand counts as subnormal under DAZ. Stochastic rounding of element i of
/// stream s uses random word i of Philox stream s under the key `seed` (philox.h).
struct Elementwise {
  Operation operation = Operation::add;
  OperandFormats from{binary16, binary16, binary16};
  Format to = binary16;
  Attributes attributes = {};
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// Returns one element of the result as an encoding of how.to, and adds it to the counts. `index`
/// is the element's number in its random stream.
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
    before.flushed = exact.kind != Kind::nan && !same_result(flushed, exact);
  }
  before.nonzero = exact.kind != Kind::zero && exact.kind != Kind::nan;
  count_event(before, out, how.to, attributes, counts);
  return out.bits;
}

/// Computes out[i] from a[i], b[i], c[i] for 0 <= i < n, and adds the elements to the counts.
/// Element i is number first + i of its random stream. `out` may be one of the operands. Operands
/// that the operation does not have are not read and may be null. Every number of `to` must be a
/// number of T.
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
