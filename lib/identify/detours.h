// SPDX-License-Identifier: Apache-2.0
//
// The second stage of an identification, where no model of the first explains every bit: epilogues
// with a detour on the way to D, such as another rounding than to nearest or a format in between.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// Returns whether a number of a run's D is below `bound`; of integers it is not asked.
bool has_below(double bound, const Format& d, std::span<const KernelRun> runs);

/// Returns the models, in all orders, of the detours that bring these runs nearer than none, the
/// simplest first. `also` are elements of each run that tell more than a sample may.
std::vector<Candidate> promising_candidates(const std::vector<Core>& cores,
                                            const KernelFacts& facts,
                                            std::span<const KernelRun> runs,
                                            const std::vector<std::size_t>& also = {});

/// Searches again, with the detours that come nearer than none, and adds the models that were tried
/// and their verdicts to `x`, which no model explained. What a detour rounds to is narrow and hides
/// most of what orders differ in, so that the plain orders, on a sample of D, tell which detours
/// are worth all orders.
void search_detours(Identification& x, const KernelFacts& facts, const SearchOptions& options,
                    const SearchProgress& progress);

}  // namespace binade
