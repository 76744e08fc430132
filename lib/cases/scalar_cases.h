// SPDX-License-Identifier: Apache-2.0
//
// Operands of scalar instructions as pure functions of a case number, which give the same on the
// host and on a GPU. Case n of exhaustive cases has n's bits as its operands; other cases are drawn
// from a seed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/cases/scalar_operands.h"

namespace binade {

/// A set of cases of an instruction: all that there are, or `count` random ones of a seed.
struct ScalarCases {
  std::uint64_t count = 0;
  bool exhaustive = false;
  std::uint64_t seed = 1;
};

/// Returns the number of bits of all inputs of one lane. FP6 and FP4 count 6 and 4 bits, since PTX
/// wants zeros in the upper bits of their bytes.
constexpr int lane_case_bits(const ScalarOperation& x) {
  int out = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.inputs); ++i) out += x.from[i].bits();
  return out;
}

/// Returns whether exhaustive cases combine every input of a lane with every input of the others,
/// which they do up to 32 bits of inputs. Else all lanes change with every case, each in another
/// order.
constexpr bool lanes_are_crossed(const ScalarOperation& x) {
  return lane_case_bits(x) * x.lanes <= 32;
}

/// Returns how many cases there are if each lane gets all its inputs; for `widened` instructions,
/// if it gets all f16 and all bf16 numbers. 0 stands for more than 2^32, and for instructions that
/// take random bits.
constexpr std::uint64_t exhaustive_cases(const ScalarOperation& x) {
  if (x.widened) return std::uint64_t{2} << 16;
  if (x.random || lane_case_bits(x) > 32) return 0;
  const int lanes = lanes_are_crossed(x) ? x.lanes : 1;
  return std::uint64_t{1} << (lane_case_bits(x) * lanes);
}

/// Returns all cases of an instruction where there are at most `most`, else `most` random ones.
constexpr ScalarCases cases_of(const ScalarOperation& x, std::uint64_t most,
                               std::uint64_t seed = 1) {
  const std::uint64_t all = exhaustive_cases(x);
  if (all != 0 && all <= most) return {all, true, seed};
  return {most, false, seed};
}

/// Returns x under a permutation of the integers of n bits, another one for each lane and the
/// identity for lane 0.
constexpr std::uint64_t scrambled(std::uint64_t x, int n, int lane) {
  if (lane == 0) return x;
  const std::uint64_t mask = (std::uint64_t{1} << n) - 1;
  x = (x * 0x9E3779B97F4A7C15 + static_cast<std::uint64_t>(lane) * 0xD1B54A32D192ED03) & mask;
  x ^= x >> (n / 2 + 1);
  return x * 0xBF58476D1CE4E5B9 & mask;
}

/// Returns, as an f32 encoding, the number whose f16 encoding is i; from i = 2^16 on, the number
/// whose bf16 encoding is i - 2^16.
constexpr std::uint64_t widened_input(std::uint64_t i) {
  const Attributes keep{.nan = NanResult::propagate};
  return convert(i & 0xFFFF, (i >> 16 & 1) == 0 ? binary16 : bfloat16, binary32, keep).bits;
}

/// Splits an integer in which the inputs of a lane lie one after the other, the first one lowest.
constexpr Operands inputs_in(const ScalarOperation& x, std::uint64_t bits) {
  Operands out{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.inputs); ++i) {
    const int width = x.from[i].bits();
    out[i] = bits & (~std::uint64_t{0} >> (64 - width));
    bits = width < 64 ? bits >> width : 0;
  }
  return out;
}

/// Writes the inputs of a lane to their places in the operand words, where the words' other lanes
/// are kept.
constexpr void place(const ScalarOperation& x, int lane, const Operands& inputs,
                     ScalarOperands& out) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.inputs); ++i) {
    if (x.packed) {
      out[i] |= inputs[i] << (lane * PtxCvt::lane_bits(x.from[i]));
    } else {
      out[static_cast<std::size_t>(x.lanes - 1 - lane)] = inputs[i];
    }
  }
}

/// Returns the operand words of case n.
constexpr ScalarOperands operands_of(const ScalarOperation& x, const ScalarCases& cases,
                                     std::uint64_t n) {
  ScalarOperands out{};
  if (cases.exhaustive && x.widened) return {widened_input(n)};
  if (cases.exhaustive) {
    const int width = lane_case_bits(x);
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    const bool crossed = lanes_are_crossed(x);
    for (int lane = 0; lane < x.lanes; ++lane) {
      const std::uint64_t bits = crossed ? n >> (lane * width) & mask : scrambled(n, width, lane);
      place(x, lane, inputs_in(x, bits), out);
    }
    return out;
  }
  CaseDraw draw(cases.seed, n);
  if (x.widened) return {widened_input(draw.bits(17))};
  for (int lane = 0; lane < x.lanes; ++lane) {
    place(x, lane, draw_inputs(draw, x, aim_of(n)), out);
  }
  if (x.random) out[static_cast<std::size_t>(x.words - 1)] = draw.bits(32);
  return out;
}

/// Returns the number of the case that a recording keeps as its sample i. Samples of seeded cases,
/// and of no more cases than samples, are the first cases. Where all cases are more than the
/// samples, half of the samples are spread evenly, and half have operands that are hard to round.
constexpr std::uint64_t sample_case(const ScalarOperation& x, const ScalarCases& cases,
                                    std::uint64_t samples, std::uint64_t i) {
  if (!cases.exhaustive || cases.count <= samples) return i;
  // The upper bits of the multiples of an odd number near 2^64 / golden ratio cover a range evenly.
  if (i % 2 == 0) {
    const std::uint64_t spread = (i / 2 + 1) * 0x9E3779B97F4A7C15;
    return static_cast<std::uint64_t>(uint128{spread} * cases.count >> 64);
  }
  CaseDraw draw(cases.seed, i);
  if (x.widened) return draw.bits(17);
  const int width = lane_case_bits(x);
  std::uint64_t out = 0;
  for (int lane = lanes_are_crossed(x) ? x.lanes - 1 : 0; lane >= 0; --lane) {
    const Operands inputs = draw_inputs(draw, x, aim_of(32 * (i / 2)));
    std::uint64_t bits = 0;
    for (auto k = static_cast<std::size_t>(x.inputs); k-- > 0;) {
      bits = bits << x.from[k].bits() | inputs[k];
    }
    out = (width < 64 ? out << width : 0) | bits;
  }
  return out;
}

}  // namespace binade
