// SPDX-License-Identifier: Apache-2.0
//
// Computes elements of D by many candidates. The operands of all runs are decoded once for all
// cores of equal readings, and candidates that are evaluated together share their sums
// (shared_sums.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/identify/candidates.h"
#include "lib/identify/shared_sums.h"

namespace binade {

/// Receives what candidate number `i` of a call gives for some of its elements: those from number
/// `first` on.
using ElementSink =
    std::function<void(std::size_t i, std::size_t first, std::span<const std::uint64_t> d)>;

/// Evaluates candidates. It keeps references to the runs, which the caller owns.
class Evaluator {
 public:
  using Candidates = std::span<const Candidate* const>;

  Evaluator(const std::vector<Core>& cores, std::span<const KernelRun> runs);

  /// Computes these elements of a run by each of the candidates, on the calling thread. `first`
  /// counts in `elements`. Candidates of one core share most of the work.
  void evaluate(Candidates candidates, std::size_t run, std::span<const std::size_t> elements,
                const ElementSink& sink) const;
  /// Computes whole rows of D, from `row` on and at most tile_rows of them. `first` is the number
  /// of an element in D. The run must have tiles.
  void evaluate_rows(Candidates candidates, std::size_t run, std::size_t row,
                     const ElementSink& sink) const;
  bool has_tiles(std::size_t run) const { return !of_tiles_[run].empty(); }
  std::span<const KernelRun> runs() const { return runs_; }

 private:
  /// The multiplier of a core and, if it has no kernel, that of its single steps.
  struct CoreMultipliers {
    Multiplier whole;
    std::optional<Multiplier> steps;
  };
  /// The sums of some candidates in one graph, the node of each, and what of each epilogue the
  /// graph does not contain.
  struct Sums {
    SharedSums shared;
    std::vector<int> nodes;
    std::vector<std::optional<EpiloguePlan>> plans;
  };

  std::vector<CoreMultipliers> multipliers_of(const std::vector<Core>& cores, const KernelRun& run,
                                              const Kernels& kernels);
  Sums sums_of(Candidates candidates, const KernelRun& run, const Kernels& kernels,
               const std::vector<CoreMultipliers>& multipliers) const;

  std::span<const KernelRun> runs_;
  std::vector<std::unique_ptr<const DecodedOperands>> operands_;
  std::vector<std::vector<CoreMultipliers>> of_elements_, of_tiles_;  // one for each run and core
};

/// Returns whether two results are the same: bit for bit or, if any_nan, both NaNs. The bits of a
/// chain's NaN are not defined.
bool is_same_result(std::uint64_t x, std::uint64_t y, const Format& f, bool any_nan);

}  // namespace binade
