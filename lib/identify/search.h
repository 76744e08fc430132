// SPDX-License-Identifier: Apache-2.0
//
// The search: every candidate is held against some elements of D, those that tell most first; who
// contradicts none goes on until all elements are compared. Who contradicts one is rejected, and the
// nearest of them are followed further, to say how near they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lib/identify/candidates.h"
#include "lib/identify/evaluator.h"

namespace binade {

/// An element that a model gets wrong.
struct Contradiction {
  std::size_t run = 0, element = 0;
  std::uint64_t expected = 0;  ///< by the model
  std::uint64_t found = 0;     ///< in D
};

struct Verdict {
  std::size_t candidate = 0;
  /// Other candidates, which compute the same at every K of the runs.
  std::vector<std::size_t> same = {};
  std::size_t compared = 0, equal = 0;
  std::optional<Contradiction> first = {};  ///< in the order of D; of those rejected
};

struct SearchResult {
  std::size_t elements = 0;         ///< of all runs
  std::size_t tried = 0;            ///< candidates that differ in what they compute
  std::vector<Verdict> explaining;  ///< simplest first; each was compared on every element
  std::vector<Verdict> rejected;    ///< nearest first
};

struct SearchOptions {
  std::size_t nearest = 5;    ///< so many of the rejected get their first contradiction
  bool all_rejected = false;  ///< all of them do
};

/// Told now and then how much is done, between 0 and 1 of a stage.
using SearchProgress = std::function<void(const char* stage, double fraction)>;

/// Error where there is nothing to compare.
SearchResult search(const std::vector<Core>& cores, const std::vector<Candidate>& candidates,
                    std::span<const KernelRun> runs, const SearchOptions& options,
                    const SearchProgress& progress = {});

/// Whether the bits of NaNs are open: in chains of operations that are rounded each.
constexpr bool any_nan_fits(const GemmModel& g) { return is_chain(g.model); }

}  // namespace binade
