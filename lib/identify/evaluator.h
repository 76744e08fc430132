// SPDX-License-Identifier: Apache-2.0
//
// Elements of D by any candidate: the operands of all runs, taken apart once for all cores that take them alike
// (lib/gemm/prepared_product.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/gemm/prepared_product.h"
#include "lib/identify/cores.h"
#include "lib/identify/kernel_run.h"

namespace binade {

/// A model made ready for a run. One thread uses it at a time.
class Prepared {
 public:
  Prepared(const GemmModel& model, const KernelRun& run, const DecodedOperands& operands);
  std::uint64_t element(std::size_t at);

 private:
  const KernelRun& run_;
  const DecodedOperands& operands_;
  PreparedProduct product_;
  PreparedProduct::Space space_;
};

/// The operands of all runs, for all cores. Keeps references to the runs.
class Evaluator {
 public:
  Evaluator(const std::vector<Core>& cores, std::span<const KernelRun> runs);
  /// `model`: of core number `core`, in any order.
  Prepared prepare(const GemmModel& model, std::size_t core, std::size_t run) const {
    return {model, runs_[run], *operands_[core * runs_.size() + run]};
  }
  std::span<const KernelRun> runs() const { return runs_; }

 private:
  std::span<const KernelRun> runs_;
  std::vector<std::shared_ptr<const DecodedOperands>> operands_;  // core after core, run after run
};

/// Whether two results are one: bit for bit, but where the bits of a chain's NaN are open.
bool is_same_result(std::uint64_t x, std::uint64_t y, const Format& f, bool any_nan);

}  // namespace binade
