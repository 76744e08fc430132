// SPDX-License-Identifier: Apache-2.0
//
// Which elements; what they are is lib/gemm's.
#include "lib/identify/evaluator.h"

#include <algorithm>

namespace binade {
Prepared::Prepared(const GemmModel& model, const KernelRun& run, const DecodedOperands& operands)
    : run_(run),
      operands_(operands),
      product_(model, {run.k, !run.c.empty(), !run.bias.empty()}, kernels_for_elements()),
      space_(product_.space()) {}

std::uint64_t Prepared::element(std::size_t at) {
  return product_.element(operands_, run_.row(at), run_.column(at), run_.element(at), space_);
}

Evaluator::Evaluator(const std::vector<Core>& cores, std::span<const KernelRun> runs)
    : runs_(runs) {
  std::vector<OperandReading> readings;
  for (const Core& core : cores) {
    readings.push_back(reading_of(core.plain, kernels_for_elements()));
    const auto same = std::ranges::find(readings, readings.back());
    const bool is_known = same != readings.end() - 1;
    const auto first = static_cast<std::size_t>(same - readings.begin()) * runs.size();
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const KernelRun& x = runs[run];
      operands_.push_back(is_known ? operands_[first + run]
                                   : std::make_shared<const DecodedOperands>(
                                         decoded(readings.back(), x.a, x.b, x.k)));
    }
  }
}

bool is_same_result(std::uint64_t x, std::uint64_t y, const Format& f, bool any_nan) {
  if (x == y) return true;
  if (!any_nan || is_integer(f)) return false;
  return kind_of(fields_of(x, f), f) == Kind::nan && kind_of(fields_of(y, f), f) == Kind::nan;
}

}  // namespace binade
