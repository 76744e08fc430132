// SPDX-License-Identifier: Apache-2.0
//
// Inputs on which the models that explain everything so far give different bits; the next run of
// the kernel decides between them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// The largest number of models that a proposal distinguishes: the simplest ones.
inline constexpr std::size_t most_proposed_for = 64;

struct Proposal {
  KernelRun run;           ///< has the first run's shape; d is zeros
  std::size_t models = 0;  ///< number of models, at most most_proposed_for
  std::size_t pairs = 0;   ///< number of pairs of models; all but `inseparable` give different bits
  /// Pairs of indices in SearchResult::explaining: models that give equal bits for all of `run`.
  std::vector<std::pair<std::size_t, std::size_t>> inseparable;
};

/// Chooses rows from a pool until they distinguish all models that rows of the pool can
/// distinguish, or until there are as many rows as in the first run; fills that run's shape with
/// more rows of the pool. For one identification the result depends on the seed alone. Throws Error
/// if fewer than two models explain every bit.
Proposal propose(const Identification& x, std::uint64_t seed);

/// An array of a proposal. Operands of tf32 are encodings of binary32.
struct ProposedArray {
  const char* name;
  Format format;
  std::vector<std::uint64_t> shape, elements;
};
/// Returns a and b, and c and bias if the run has them. The matrices are transposed as those of
/// `files` are.
std::vector<ProposedArray> arrays_of(const Proposal& proposal, const KernelTypes& types,
                                     const RunFiles& files);
/// Writes the arrays as numpy.savez does; formats that NumPy lacks are written as unsigned integers
/// of their bits.
void write_proposal(const std::string& path, const Proposal& proposal, const KernelTypes& types,
                    const RunFiles& files);

/// Returns a text that says how many models the proposal distinguishes, and how to go on.
std::string proposal_text(const Proposal& proposal, const std::string& path);

}  // namespace binade
