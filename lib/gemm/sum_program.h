// SPDX-License-Identifier: Apache-2.0
//
// The walk of a sum, compiled once into steps and an order of k, and the quick ways of running them on
// operands that were taken apart before. What the ways do not handle goes to the definition
// (gemm_element).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulate/gemm.h"
#include "emulate/predecoded.h"

namespace binade {

enum class StepKind : std::uint8_t { push_zero, push_c, products, add, convert };

struct SumStep {
  StepKind kind;
  Format format;      ///< of push, add, convert
  Role role;          ///< of add, convert
  std::size_t first;  ///< of products: where they begin in the order
  int instructions;   ///< of products, in a row on one accumulator
};

/// The steps, and for each product of each instruction its k, or -1: a visitor of walk_sum.
struct SumProgram {
  std::vector<SumStep> steps;
  std::vector<int> order;

  void push_zero(const Format& f) { steps.push_back({StepKind::push_zero, f, {}, 0, 0}); }
  void push_c(const Format& f) { steps.push_back({StepKind::push_c, f, {}, 0, 0}); }
  void add(const Format& f, Role role) { steps.push_back({StepKind::add, f, role, 0, 0}); }
  void convert(const Format& f, Role role) { steps.push_back({StepKind::convert, f, role, 0, 0}); }
  void products(const InstructionPlaces& place) {
    const bool goes_on = !steps.empty() && steps.back().kind == StepKind::products;
    if (!goes_on) steps.push_back({StepKind::products, {}, {}, order.size(), 0});
    steps.back().instructions += 1;
    for (int i = 0; i < place.k; ++i) order.push_back(place(i));
  }
};

/// A way of computing: `read` takes an operand apart and says whether it can be used, `place` is where
/// an instruction's i-th operand stands in the order, and `dot` continues a sum by some instructions, or
/// says that it cannot.
struct PredecodedWay {
  using Operand = Factor;
  const GemmModel& g;

  static bool knows(const GemmModel& g) { return is_predecodable(g.model, g.types); }
  bool read(const Format& f, std::uint64_t code, Factor& out) const {
    return predecode_one(g.model, f, code, out);
  }
  int place(int i) const { return g.model.recipe == Recipe::expanded ? expanded_index(i, g.k) : i; }
  bool dot(const Factor* a, const Factor* b, int instructions, std::uint64_t& sum) const {
    // Whole blocks chain alike within an instruction and across several.
    const bool blocks =
        g.model.recipe == Recipe::fused_block && !g.model.c_last && g.k % g.model.block == 0;
    if (blocks) return dot_predecoded(g.model, g.types, a, b, instructions * g.k, sum, sum);
    for (int i = 0; i < instructions; ++i) {
      if (!dot_predecoded(g.model, g.types, a + i * g.k, b + i * g.k, g.k, sum, sum)) return false;
    }
    return true;
  }
};

/// x rounded to an odd significand, where `lost` is what x lacks: rounding that to fewer bits is rounding
/// the exact sum (Boldo and Melquiond 2008).
inline double to_odd(double x, double lost) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  if (lost == 0 || (bits & 1) != 0) return x;
  return std::bit_cast<double>((lost > 0) == (x > 0) ? bits + 1 : bits - 1);
}

/// x to nearest on a format's grid of at most 24 bits, its range not bounded above: beside 1.5·2^(52+u) a
/// double has no bits below 2^u.
inline double on_grid(double x, const Format& f) {
  const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7FF);
  const int exponent = field - 1023 < f.emin() ? f.emin() : field - 1023;
  const int unit = exponent - f.fraction_bits();
  const auto big = std::bit_cast<double>(static_cast<std::uint64_t>(unit + 52 + 1023) << 52 |
                                         std::uint64_t{1} << 51);
  return std::copysign((x + big) - big, x);
}

/// Chains are what the machine's own arithmetic does: in binary32, in binary64, and in binary64 rounded
/// once more for narrower accumulators. NaNs and infinities are the definition's.
template <class Real>
struct HostWay {
  using Operand = Real;
  const GemmModel& g;

  static constexpr bool is_double = sizeof(Real) == sizeof(double);
  static const Format& format() { return is_double ? binary64 : binary32; }
  static Real value(std::uint64_t bits) {
    if constexpr (is_double) {
      return std::bit_cast<double>(bits);
    } else {
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    }
  }
  static std::uint64_t bits(Real x) {
    if constexpr (is_double) {
      return std::bit_cast<std::uint64_t>(x);
    } else {
      return std::bit_cast<std::uint32_t>(x);
    }
  }
  /// Products are exact in binary64, and numbers far from its ends.
  static bool is_narrow(const DotTypes& t) {
    const auto small = [](const Format& f) { return f.precision <= 24 && f.exponent_bits <= 8; };
    return is_double && small(t.a) && small(t.b) && small(t.d) && t.d != binary32;
  }
  static bool knows(const GemmModel& g) {
    const bool chain =
        g.model.recipe == Recipe::fma_chain || g.model.recipe == Recipe::mul_add_chain;
    const DotTypes& t = g.types;
    return chain && !g.model.descending && !g.model.c_last && !g.model.through_f32 &&
           g.model.rounding == Rounding::ties_to_even && t.c == t.d &&
           (t.d == format() || is_narrow(t)) && fits_in(t.a, format()) && fits_in(t.b, format());
  }
  bool read(const Format& f, std::uint64_t code, Real& out) const {
    out = value(convert(code, f, format()).bits);
    return std::isfinite(out);
  }
  int place(int i) const { return i; }
  Real chain(const Real* a, const Real* b, int n, Real sum) const {
    if (g.model.recipe == Recipe::fma_chain) {
      for (int i = 0; i < n; ++i) sum = std::fma(a[i], b[i], sum);
    } else {
      for (int i = 0; i < n; ++i) sum = sum + a[i] * b[i];
    }
    return sum;
  }
  /// False where a sum or a rounded product leaves the range.
  bool narrow_chain(const double* a, const double* b, int n, double& sum) const {
    const Format d = g.types.d;
    const double largest =
        std::ldexp(static_cast<double>(d.max_significand()), d.emax() - d.fraction_bits());
    const bool fused = g.model.recipe == Recipe::fma_chain;
    for (int i = 0; i < n; ++i) {
      const double exact = a[i] * b[i];
      const double product = fused ? exact : on_grid(exact, d);
      if (!fused && std::fabs(product) > largest) return false;
      const double next = product + sum;
      const double of_sum = next - product;
      const double lost = (product - (next - of_sum)) + (sum - of_sum);
      sum = on_grid(to_odd(next, lost), d);
      if (std::fabs(sum) > largest) return false;
    }
    return true;
  }
  bool dot(const Real* a, const Real* b, int instructions, std::uint64_t& sum) const {
    const Format& d = g.types.d;
    const int n = instructions * g.k;
    if (d == format()) {
      const Real out = chain(a, b, n, value(sum));
      sum = bits(out);
      return std::isfinite(out);
    }
    if constexpr (is_double) {
      double out = value(convert(sum, d, binary64).bits);
      if (!std::isfinite(out) || !narrow_chain(a, b, n, out)) return false;
      sum = convert(bits(out), binary64, d).bits;
      return true;
    }
    return false;
  }
};

/// The sum of two numbers on a stack, quickly where both are short.
inline void add_quickly(detail::Evaluation<std::uint64_t, NoTrace>& stack, const Format& f,
                        Role role) {
  const Typed& right = stack.stack[stack.depth - 1];
  Typed& left = stack.stack[stack.depth - 2];
  const bool short_ones = left.format.precision <= 24 && right.format.precision <= 24;
  if (!short_ones) return stack.add(f, role);
  left = {detail::nearest_sum(left.bits, left.format, right.bits, right.format, f), f};
  --stack.depth;
}

/// Runs a program's steps on one element; a and b are in the program's order. False where the way
/// gives up.
template <class Way>
bool run(const Way& way, const SumProgram& program, const typename Way::Operand* a,
         const typename Way::Operand* b, const GemmElement<std::uint64_t>& x, Typed& sum) {
  const NoTrace no_trace;
  detail::Evaluation<std::uint64_t, NoTrace> stack{way.g, x, no_trace};
  for (const SumStep& step : program.steps) {
    switch (step.kind) {
      case StepKind::push_zero: stack.push_zero(step.format); break;
      case StepKind::push_c: stack.push_c(step.format); break;
      case StepKind::add: add_quickly(stack, step.format, step.role); break;
      case StepKind::convert: stack.convert(step.format, step.role); break;
      case StepKind::products: {
        const auto k = static_cast<std::size_t>(way.g.k);
        const bool at_once = way.g.types.c == way.g.types.d;
        const int runs = at_once ? 1 : step.instructions;
        for (int i = 0; i < runs; ++i) {
          stack.convert(way.g.types.c, Role::narrow);
          Typed& top = stack.stack[stack.depth - 1];
          const std::size_t first = step.first + static_cast<std::size_t>(i) * k;
          const int count = at_once ? step.instructions : 1;
          if (!way.dot(a + first, b + first, count, top.bits)) return false;
          top.format = way.g.types.d;
        }
        break;
      }
    }
  }
  sum = stack.stack[0];
  return true;
}

}  // namespace binade
