// SPDX-License-Identifier: Apache-2.0
//
// The models that are tried: each core in each order of a table of axes, with each way C and the output
// format can come in. The simplest first.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/identify/cores.h"

namespace binade {

struct Candidate {
  GemmModel model{};
  std::size_t core = 0;  ///< its place among the cores
  int departures = 0;    ///< from the plain order; the fewer the simpler
};

/// What is known of the kernel before the search.
struct KernelFacts {
  KernelTypes types{};
  std::size_t k = 0;  ///< the longest of the runs
  bool has_c = false, has_bias = false;
  KnownEpilogue epilogue{};
};

/// Orders that differ from a simpler one at no K of the runs are left out where that is plain; the
/// rest of them is found by the search.
std::vector<Candidate> candidates_for(const std::vector<Core>& cores, const KernelFacts& facts);

}  // namespace binade
