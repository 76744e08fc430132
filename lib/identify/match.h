// SPDX-License-Identifier: Apache-2.0
//
// How what a candidate computes is compared with D. Behind a smooth activation an element can agree
// without being decided (lib/gemm/activated.h), so that such candidates are evaluated up to it:
//
//     candidate    evaluated             D is compared with
//     any other    D                     D
//     gelu         the value before it   the codes between the ends of gelu's range
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "lib/identify/candidates.h"

namespace binade {

/// Candidates as they are evaluated. It keeps references to those that were added.
struct Evaluated {
  std::deque<Candidate> before;  ///< the activation
  std::vector<const Candidate*> models;

  void add(const Candidate& x);
};

enum class Match : std::uint8_t {
  different,
  undecided,  ///< equal or not by the steps of the activation's formula
  equal,
};

/// Compares what a candidate that was added to `Evaluated` gave with an element of D.
Match match_of(const GemmModel& g, std::uint64_t evaluated, std::uint64_t found);

/// Returns D's code for what a candidate that was added to `Evaluated` gave.
std::uint64_t result_of(const GemmModel& g, std::uint64_t evaluated);

}  // namespace binade
