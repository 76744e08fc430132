// SPDX-License-Identifier: Apache-2.0
//
// One element of a Tensor Core instruction, computed by the exact oracle: the oracle's rules are
// made from the instruction's model, and steps that the oracle does not have are put together here.
#pragma once

#include <cstdint>

#include "emulate/tensor_core.h"
#include "tests/emulate/dot_draw.h"
#include "tests/emulate/oracle_bridge.h"
#include "tests/oracle/dot.h"
#include "tests/oracle/operations.h"

namespace binade::test {

inline oracle::DotRules rules_of(const DotModel& model, const Format& d) {
  oracle::DotRules out{.block_length = model.block,
                       .fraction_bits = model.fraction_bits,
                       .exponent_floor = model.exponent_floor,
                       .way = rules_of({.rounding = model.rounding}).way};
  out.recipe = model.recipe == Recipe::expanded    ? oracle::Recipe::expanded
               : model.recipe == Recipe::fma_chain ? oracle::Recipe::fma_chain
                                                   : oracle::Recipe::blocks;
  out.result = d == binary64     ? oracle::Result::binary64
               : d == binary16   ? oracle::Result::binary16
               : model.grid == d ? oracle::Result::binary32
                                 : oracle::Result::binary32_of_14_digits;
  return out;
}

/// Returns x rounded to nearest, ties to even, with NVIDIA's NaN.
inline std::uint64_t nearest(const oracle::Computed& x, const Format& f) {
  const oracle::Oracle judge(spec_of(f), oracle::Oracle::Method::division);
  return judge.round(x.value, rules_of({.nan = NanResult::nvidia})).bits;
}

/// Returns c + fma(a1, b1, a0·b0) + fma(a3, b3, a2·b2), added in this order, with each operation
/// rounded to binary32.
inline std::uint64_t pairs_by_oracle(const DotTypes& t, const DrawnDot& row) {
  using oracle::Operation;
  const auto even = oracle::Way::nearest_even;
  const auto value = [](std::uint64_t bits, const Format& f) {
    return oracle::value_of(bits, spec_of(f));
  };
  auto sum = value(row.c, t.c);
  for (std::size_t i = 0; i < row.a.size(); i += 2) {
    const auto a = [&](std::size_t at) { return value(row.a[at], t.a); };
    const auto b = [&](std::size_t at) { return value(row.b[at], t.b); };
    const std::uint64_t product =
        nearest(oracle::compute(Operation::multiply, a(i), b(i), {}, even), binary32);
    const std::uint64_t pair = nearest(oracle::compute(Operation::multiply_add, a(i + 1), b(i + 1),
                                                       value(product, binary32), even),
                                       binary32);
    const std::uint64_t added =
        nearest(oracle::compute(Operation::add, sum, value(pair, binary32), {}, even), binary32);
    sum = value(added, binary32);
  }
  return nearest({sum}, t.d);
}

/// Returns D. The oracle itself computes fused sums and the expanded recipe; where sums begin at +0
/// or are binary32 before they are converted to another type, the last steps are done here.
inline std::uint64_t by_oracle(const Instruction& x, const DrawnDot& row) {
  const DotTypes& t = x.types;
  if (x.model.recipe == Recipe::pairwise) return pairs_by_oracle(t, row);
  const bool whole =
      x.model.recipe == Recipe::expanded || (!x.model.c_last && !x.model.through_f32);
  const Format sum_format = x.model.through_f32 ? binary32 : t.d;
  const Format start_format = whole || !x.model.c_last ? t.c : sum_format;
  std::uint64_t sum =
      oracle::dot(rules_of(x.model, sum_format), spec_of(t.a), spec_of(t.b), spec_of(start_format),
                  row.a, row.b, whole || !x.model.c_last ? row.c : 0);
  if (whole) return sum;
  const auto value = [](std::uint64_t bits, const Format& f) {
    return oracle::value_of(bits, spec_of(f));
  };
  const auto even = oracle::Way::nearest_even;
  if (x.model.c_last) {
    sum = nearest(oracle::compute(oracle::Operation::add, value(sum, sum_format), value(row.c, t.c),
                                  {}, even),
                  sum_format);
  }
  return sum_format == t.d ? sum : nearest({value(sum, sum_format)}, t.d);
}

}  // namespace binade::test
