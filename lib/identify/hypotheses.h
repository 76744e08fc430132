// SPDX-License-Identifier: Apache-2.0
//
// What may have happened where no model explains every element: mistakes of kernels (change.h), and
// parts of D that are other than the rest. Each is tested bit for bit by models on all elements,
// and told with the share that it makes equal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/identify/search.h"

namespace binade {

struct Identification;

/// A suspicion. `elements` is 0 if it makes none equal by itself.
struct KernelHypothesis {
  std::string words;
  std::size_t equal = 0, elements = 0;
  std::string model = {};  ///< options of `binade gemm`, of the model that makes so many equal
  std::optional<std::size_t> run = {};  ///< of several, the one whose elements they are; empty: all
};

struct KernelHypotheses {
  /// Those that make most equal first. Of several runs they are of that of most elements which the
  /// nearest model gets wrong.
  std::vector<KernelHypothesis> told;
  std::size_t tried = 0;                   ///< how many mistakes were tried
  std::vector<std::string> left_out = {};  ///< plausible ones for which the time did not suffice
};

/// Returns suspicions about an identification in which no model explains every element; none if
/// there is one. Those of rows that met another group's B are of all runs. No search begins after
/// so many seconds.
KernelHypotheses hypotheses_of(const Identification& x, double seconds = 10,
                               const SearchProgress& progress = {});

}  // namespace binade
