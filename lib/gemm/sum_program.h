// SPDX-License-Identifier: Apache-2.0
//
// The walk of a sum (emulate/sum_order.h), compiled once into steps on a stack of accumulators and
// a list of k.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulate/sum_order.h"

namespace binade {

/// A visitor of walk_sum that records the steps and, in `order`, the k of each product of each
/// instruction, or -1 for padding.
struct SumProgram {
  std::vector<SumStep> steps;
  std::vector<int> order;

  /// Returns the largest number of accumulators on the stack at once.
  std::size_t depth() const {
    std::size_t now = 0, most = 0;
    for (const SumStep& step : steps) {
      if (step.kind == StepKind::push_zero || step.kind == StepKind::push_c) ++now;
      if (step.kind == StepKind::add || step.kind == StepKind::add_scaled) --now;
      most = std::max(most, now);
    }
    return most;
  }

  void push_zero(const Format& f) { steps.push_back({StepKind::push_zero, f, {}, 0, 0}); }
  void push_c(const Format& f) { steps.push_back({StepKind::push_c, f, {}, 0, 0}); }
  void add_scaled(const Format& f, int run) {
    steps.push_back({StepKind::add_scaled, f, {}, static_cast<std::size_t>(run), 0});
  }
  void add(const Format& f, Role role) { steps.push_back({StepKind::add, f, role, 0, 0}); }
  void convert(const Format& f, Role role) { steps.push_back({StepKind::convert, f, role, 0, 0}); }
  void products(const InstructionPlaces& place) {
    const bool goes_on = !steps.empty() && steps.back().kind == StepKind::products;
    if (!goes_on) steps.push_back({StepKind::products, {}, {}, order.size(), 0});
    steps.back().instructions += 1;
    for (int i = 0; i < place.k; ++i) order.push_back(place(i));
  }
};

/// Returns the format of a finished sum, which is that of the last step's result.
inline Format final_format(const SumProgram& program, const GemmModel& g) {
  const SumStep& last = program.steps.back();
  return last.kind == StepKind::products ? g.types.d : last.format;
}

}  // namespace binade
