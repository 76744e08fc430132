// SPDX-License-Identifier: Apache-2.0
//
// A run of K has its data and its scales, of A and of B: a mistake takes some of these parts from
// another run, and all others from the own one.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// What of a matrix is taken from elsewhere.
struct RunParts {
  bool data = false, scales = false;
};

struct MovedParts {
  const char* words;
  RunParts a, b;
};
/// The fewest parts first: of those that give the same, the fewest are moved.
inline constexpr std::array moved_parts{
    MovedParts{"A's scales", {false, true}, {}},
    MovedParts{"B's scales", {}, {false, true}},
    MovedParts{"A", {true, false}, {}},
    MovedParts{"B", {}, {true, false}},
    MovedParts{"A's and B's scales", {false, true}, {false, true}},
    MovedParts{"A and B", {true, false}, {true, false}},
    MovedParts{"A, with its scales,", {true, true}, {}},
    MovedParts{"B, with its scales,", {}, {true, true}},
    MovedParts{"A, with its scales, and B", {true, true}, {true, false}},
    MovedParts{"B, with its scales, and A", {true, false}, {true, true}}};

/// Whether a run has the scales that these parts take.
bool has_parts(const KernelRun& run, const MovedParts& moved);

/// Returns the change that reads some parts of run from[r] of K in the place of those of run r,
/// with words for it. It refers to the run's arrays. Runs whose data is moved are as long as their
/// places.
Change moved_runs(const KernelRun& run, const MovedParts& moved,
                  const std::vector<std::size_t>& from);

/// "k 128..383", of the runs of this length from first to last.
std::string run_text(const KernelRun& run, std::size_t length, std::size_t first, std::size_t last);

}  // namespace binade
