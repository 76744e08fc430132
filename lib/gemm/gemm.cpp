// SPDX-License-Identifier: Apache-2.0
//
// The walk of a sum, compiled once into steps and an order of k; then every element runs the steps on
// operands that were taken apart once. What the quick ways do not handle goes to the definition.
#include "lib/gemm/gemm.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "emulate/predecoded.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

enum class StepKind : std::uint8_t { push_zero, push_c, products, add, convert };

struct Step {
  StepKind kind;
  Format format;      // of push, add, convert
  Role role;          // of add, convert
  std::size_t first;  // of products: where they begin in the order
};

/// The steps, and for each product of each instruction its k, or -1.
struct Program {
  std::vector<Step> steps;
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

/// How a way of computing sees the operands: the places of a row or column in the program's order.
/// `take` fills one and says whether it can be used; `dot` continues a sum, or says that it cannot.
struct PredecodedWay {
  using Operand = Factor;
  const GemmModel& g;

  static bool knows(const GemmModel& g) { return is_predecodable(g.model, g.types); }
  bool take(const Format& f, const std::uint64_t* codes, const std::vector<int>& order,
            Factor* out) const {
    bool finite = true;
    for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(g.k)) {
      for (int i = 0; i < g.k; ++i) {
        const int within = g.model.recipe == Recipe::expanded ? expanded_index(i, g.k) : i;
        const int at = order[first + static_cast<std::size_t>(within)];
        if (at < 0) continue;
        finite = predecode_one(g.model, f, codes[at], out[first + static_cast<std::size_t>(i)]) &&
                 finite;
      }
    }
    return finite;
  }
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
  bool take(const Format& f, const std::uint64_t* codes, const std::vector<int>& order,
            Real* out) const {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] < 0) continue;
      out[i] = value(convert(codes[order[i]], f, format()).bits);
      if (!std::isfinite(out[i])) return false;
    }
    return true;
  }
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

/// Runs a program's steps on one element. False where the way gives up.
template <class Way>
bool run(const Way& way, const Program& program, const typename Way::Operand* a,
         const typename Way::Operand* b, const GemmElement<std::uint64_t>& x, Typed& sum) {
  const NoTrace no_trace;
  detail::Evaluation<std::uint64_t, NoTrace> stack{way.g, x, no_trace};
  for (const Step& step : program.steps) {
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

/// Rows or columns in the program's order, and which of them can be used.
template <class Way>
struct Taken {
  std::vector<typename Way::Operand> operands;
  std::vector<std::uint8_t> usable;

  Taken(const Way& way, const Format& f, const std::vector<std::uint64_t>& codes, std::size_t lines,
        std::size_t k, const std::vector<int>& order)
      : operands(lines * order.size()), usable(lines) {
    parallel_for(lines, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) {
        const bool finite =
            way.take(f, codes.data() + i * k, order, operands.data() + i * order.size());
        usable[i] = finite ? 1 : 0;
      }
    });
  }
};

/// Calls element(i, j) for all of m × n on all threads and tells of rows done.
template <class Element>
void for_each_element(const GemmOperands& x, const GemmProgress& progress, const Element& element) {
  const std::size_t size = x.m * x.n;
  const std::size_t grain = std::clamp<std::size_t>((std::size_t{1} << 18) / (x.k + 1), 1, 4096);
  std::mutex telling;
  std::size_t done = 0;
  parallel_for(size, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t at = begin; at < end; ++at) element(at / x.n, at % x.n);
    if (!progress) return;
    const std::lock_guard lock(telling);
    done += end - begin;
    progress(done / x.n);
  });
}

template <class Way>
void fill(const Way& way, const GemmOperands& x, const GemmProgress& progress,
          std::vector<std::uint64_t>& d) {
  Program program;
  walk_sum(way.g, static_cast<int>(x.k), program);
  const std::size_t length = program.order.size();
  const Taken<Way> rows(way, way.g.types.a, x.a, x.m, x.k, program.order);
  const Taken<Way> columns(way, way.g.types.b, x.b, x.n, x.k, program.order);
  for_each_element(x, progress, [&](std::size_t i, std::size_t j) {
    const GemmElement<std::uint64_t> element = x.element(i, j);
    Typed sum;
    const bool done = rows.usable[i] != 0 && columns.usable[j] != 0 &&
                      run(way, program, rows.operands.data() + i * length,
                          columns.operands.data() + j * length, element, sum);
    d[i * x.n + j] = done ? epilogue(way.g, element, sum) : gemm_element(way.g, element);
  });
}

}  // namespace

std::vector<std::uint64_t> gemm(const GemmModel& model, const GemmOperands& operands,
                                const GemmProgress& progress) {
  std::vector<std::uint64_t> d(operands.m * operands.n);
  if (PredecodedWay::knows(model)) {
    fill(PredecodedWay{model}, operands, progress, d);
  } else if (HostWay<float>::knows(model)) {
    fill(HostWay<float>{model}, operands, progress, d);
  } else if (HostWay<double>::knows(model)) {
    fill(HostWay<double>{model}, operands, progress, d);
  } else {
    for_each_element(operands, progress, [&](std::size_t i, std::size_t j) {
      d[i * operands.n + j] = gemm_element(model, operands.element(i, j));
    });
  }
  return d;
}

}  // namespace binade
