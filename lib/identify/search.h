// SPDX-License-Identifier: Apache-2.0
//
// The search. Every candidate is compared with some elements of D, those first that distinguish
// most candidates. Candidates that contradict none are compared with more, until all elements are
// compared. Those that contradict an element are rejected, and the nearest of them are followed
// further, to say how near they are.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lib/identify/candidates.h"

namespace binade {

/// An element that a model gets wrong.
struct Contradiction {
  std::size_t run = 0, element = 0;  ///< number of the run, and of the element in its D
  std::uint64_t expected = 0;        ///< what the model gives
  std::uint64_t found = 0;           ///< what D holds
};

/// What the search found out about a candidate.
struct Verdict {
  std::size_t candidate = 0;  ///< index in the list of candidates
  /// Other candidates that compute the same at every K of the runs.
  std::vector<std::size_t> same = {};
  std::size_t compared = 0, equal = 0;  ///< numbers of elements
  /// If the candidate contradicts no element: how many agree without being decided, by the range of
  /// its activation (match.h). They count as equal unless they are too many for a conclusion, by
  /// which it is rejected.
  std::size_t undecided = 0;
  /// If the candidate is rejected and `nearest` or `all_rejected` includes it, its first wrong
  /// element in the order of D.
  std::optional<Contradiction> first = {};
};

struct SearchResult {
  std::size_t elements = 0;         ///< number of elements of all runs
  std::size_t tried = 0;            ///< number of candidates that differ in what they compute
  std::vector<Verdict> explaining;  ///< simplest first; each was compared with every element
  std::vector<Verdict> rejected;    ///< nearest first
  /// Simplest first: those that contradict nothing of what they were compared with, which is not
  /// every element, because the time ended, or because enough simpler models explain every bit.
  std::vector<Verdict> open = {};
};

struct SearchOptions {
  std::size_t nearest = 5;    ///< how many rejected candidates get their first contradiction
  bool all_rejected = false;  ///< whether all rejected candidates get it
  bool rare = true;  ///< whether identify searches rare orders where the usual ones explain nothing
  /// So many of the candidates, the first ones, were searched before: of the others only those are
  /// compared that compute something else, and fewer of the rejected are followed.
  std::size_t known = 0;
  /// The candidates are known to differ in what they compute.
  bool distinct = false;
  /// A sample that costs more multiply-adds is compared by the simplest of the models that agree
  /// first. If enough of them explain every bit, the others stay open.
  std::size_t round_products = std::size_t{1} << 28;
  /// After this, no further elements are compared.
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
};

/// Called now and then with the name of a stage and the part of it that is done, above 0 and at
/// most 1. Calls come from several threads, but never overlap.
using SearchProgress = std::function<void(const char* stage, double fraction)>;

/// Runs the search. Throws Error if the runs hold no element, and std::logic_error if the
/// definition (emulate/gemm.h) contradicts a model that was found, which is a defect.
SearchResult search(const std::vector<Core>& cores, const std::vector<Candidate>& candidates,
                    std::span<const KernelRun> runs, const SearchOptions& options,
                    const SearchProgress& progress = {});

/// Adds what was found out about further candidates of the same list (SearchOptions::known) to the
/// result of a search that found nothing.
void add_result(SearchResult& to, SearchResult more, const SearchOptions& options);

/// Returns whether the bits of a model's NaNs are not defined, as in chains of rounded operations.
constexpr bool any_nan_fits(const GemmModel& g) { return is_chain(g.model); }

}  // namespace binade
