// SPDX-License-Identifier: Apache-2.0
//
// Elements of D by any candidates: the operands of all runs are taken apart once for all cores that take them alike, and
// candidates that are asked for together share their sums (shared_sums.h).
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

/// Told what candidate number `i` gives for the elements number `first` and on.
using ElementSink =
    std::function<void(std::size_t i, std::size_t first, std::span<const std::uint64_t> d)>;

/// Keeps references to the runs.
class Evaluator {
 public:
  using Candidates = std::span<const Candidate* const>;

  Evaluator(const std::vector<Core>& cores, std::span<const KernelRun> runs);

  /// These elements of a run by each of the candidates, on this thread. Candidates of one core share most.
  void evaluate(Candidates candidates, std::size_t run, std::span<const std::size_t> elements,
                const ElementSink& sink) const;
  /// Whole rows of D, from `row` on, tile_rows at most; elements are D's own numbers. Of runs that have tiles.
  void evaluate_rows(Candidates candidates, std::size_t run, std::size_t row,
                     const ElementSink& sink) const;
  bool has_tiles(std::size_t run) const { return !of_tiles_[run].empty(); }
  std::span<const KernelRun> runs() const { return runs_; }

 private:
  /// A core's, and the one of its steps.
  struct CoreMultipliers {
    Multiplier whole;
    std::optional<Multiplier> steps;
  };
  /// Sums of candidates, and what is left of their epilogues.
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
  std::vector<std::vector<CoreMultipliers>> of_elements_, of_tiles_;  // run after run, of the cores
};

/// Whether two results are one: bit for bit, but where the bits of a chain's NaN are open.
bool is_same_result(std::uint64_t x, std::uint64_t y, const Format& f, bool any_nan);

}  // namespace binade
