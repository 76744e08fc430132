// SPDX-License-Identifier: Apache-2.0
//
// Inputs on which models that explain everything so far give different bits: the next run of the kernel
// decides between them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// More models than this are not held against each other; the simplest are.
inline constexpr std::size_t most_proposed_for = 64;

struct Proposal {
  KernelRun run;  ///< of the first run's shape; d is zeros
  std::size_t models = 0;
  std::size_t pairs = 0;  ///< of models, of which all but the inseparable are told apart
  /// Places among the models that explain.
  std::vector<std::pair<std::size_t, std::size_t>> inseparable;
};

/// Rows are chosen from a pool until they tell apart whatever the pool can; the rest of the shape is
/// filled from the pool too. Depends on the seed alone. Error where fewer than two models are left.
Proposal propose(const Identification& x, std::uint64_t seed);

/// One of a proposal: a tf32's codes are binary32's.
struct ProposedArray {
  const char* name;
  Format format;
  std::vector<std::uint64_t> shape, elements;
};
/// a, b, and c and bias where there are any. The matrices lie as those of `files`.
std::vector<ProposedArray> arrays_of(const Proposal& proposal, const KernelTypes& types,
                                     const RunFiles& files);
/// The same as numpy.savez does; formats that NumPy lacks as their bits.
void write_proposal(const std::string& path, const Proposal& proposal, const KernelTypes& types,
                    const RunFiles& files);

/// What it does, and how to go on.
std::string proposal_text(const Proposal& proposal, const std::string& path);

}  // namespace binade
