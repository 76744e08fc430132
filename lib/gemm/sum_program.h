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
};

/// The steps, and for each product of each instruction its k, or -1: a visitor of walk_sum.
struct SumProgram {
  std::vector<SumStep> steps;
  std::vector<int> order;

  void push_zero(const Format& f) { steps.push_back({StepKind::push_zero, f, {}, 0}); }
  void push_c(const Format& f) { steps.push_back({StepKind::push_c, f, {}, 0}); }
  void add(const Format& f, Role role) { steps.push_back({StepKind::add, f, role, 0}); }
  void convert(const Format& f, Role role) { steps.push_back({StepKind::convert, f, role, 0}); }
  void products(const InstructionPlaces& place) {
    steps.push_back({StepKind::products, {}, {}, order.size()});
    for (int i = 0; i < place.k; ++i) order.push_back(place(i));
  }
};

/// A way of computing: `read` takes an operand apart and says whether it can be used, `place` is where
/// an instruction's i-th operand stands in the order, and `dot` continues a sum, or says that it
/// cannot.
struct PredecodedWay {
  using Operand = Factor;
  const GemmModel& g;

  static bool knows(const GemmModel& g) { return is_predecodable(g.model, g.types); }
  bool read(const Format& f, std::uint64_t code, Factor& out) const {
    return predecode_one(g.model, f, code, out);
  }
  int place(int i) const { return g.model.recipe == Recipe::expanded ? expanded_index(i, g.k) : i; }
  bool dot(const Factor* a, const Factor* b, std::uint64_t c, std::uint64_t& d) const {
    return dot_predecoded(g.model, g.types, a, b, g.k, c, d);
  }
};

/// Chains in binary32 and binary64 are what the machine's own arithmetic does; NaNs aside.
template <class Real>
struct HostWay {
  using Operand = Real;
  const GemmModel& g;

  static const Format& format() { return sizeof(Real) == sizeof(float) ? binary32 : binary64; }
  static Real value(std::uint64_t bits) {
    if constexpr (sizeof(Real) == sizeof(float)) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    } else {
      return std::bit_cast<double>(bits);
    }
  }
  static std::uint64_t bits(Real x) {
    if constexpr (sizeof(Real) == sizeof(float)) {
      return std::bit_cast<std::uint32_t>(x);
    } else {
      return std::bit_cast<std::uint64_t>(x);
    }
  }
  static bool knows(const GemmModel& g) {
    const bool chain =
        g.model.recipe == Recipe::fma_chain || g.model.recipe == Recipe::mul_add_chain;
    const DotTypes& t = g.types;
    return chain && !g.model.c_last && !g.model.through_f32 &&
           g.model.rounding == Rounding::ties_to_even && t.c == format() && t.d == format() &&
           fits_in(t.a, format()) && fits_in(t.b, format());
  }
  bool read(const Format& f, std::uint64_t code, Real& out) const {
    out = value(convert(code, f, format()).bits);
    return std::isfinite(out);
  }
  int place(int i) const { return i; }
  bool dot(const Real* a, const Real* b, std::uint64_t c, std::uint64_t& d) const {
    Real sum = value(c);
    if (g.model.recipe == Recipe::fma_chain) {
      for (int i = 0; i < g.k; ++i) sum = std::fma(a[i], b[i], sum);
    } else {
      for (int i = 0; i < g.k; ++i) sum = sum + a[i] * b[i];
    }
    d = bits(sum);
    return std::isfinite(sum);
  }
};

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
      case StepKind::add: stack.add(step.format, step.role); break;
      case StepKind::convert: stack.convert(step.format, step.role); break;
      case StepKind::products: {
        stack.convert(way.g.types.c, Role::narrow);
        Typed& top = stack.stack[stack.depth - 1];
        if (!way.dot(a + step.first, b + step.first, top.bits, top.bits)) return false;
        top.format = way.g.types.d;
        break;
      }
    }
  }
  sum = stack.stack[0];
  return true;
}

}  // namespace binade
