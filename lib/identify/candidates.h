// SPDX-License-Identifier: Apache-2.0
//
// The models that identify tries: each core in each order that tables allow (splits of K,
// promotion, direction …), with each way in which C and D's format can enter. The simplest models
// come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/identify/cores.h"

namespace binade {

/// A model that identify tries.
struct Candidate {
  GemmModel model{};
  std::size_t core = 0;  ///< index of its core in the list of cores
  int departures = 0;    ///< number of differences from the plain order; the fewer, the simpler
};

/// No smooth activation gives a number below: SiLU's least is -0.2785, GELU's -0.17.
inline constexpr double least_smooth = -0.3;

/// What is known about the kernel before the search.
struct KernelFacts {
  KernelTypes types{};
  std::size_t k = 0;  ///< the longest K of the runs
  bool has_c = false, has_bias = false;
  KnownEpilogue epilogue{};
  bool is_negative = true;      ///< whether a number of D is below 0
  bool is_below_smooth = true;  ///< whether one is below least_smooth
  Format results{};  ///< the narrowest format that is tried of which all numbers of D are
  bool has_a_scale = false, has_b_scale = false;
  /// Elements of K that share a scale of a block, 0: none do, and which matrices have such scales.
  int run = 0;
  bool has_a_runs = false, has_b_runs = false;
  /// Whether all scales of blocks are numbers, or NaNs, of the formats by which instructions
  /// multiply.
  bool are_e8m0 = false, are_ue4m3 = false;

  bool is_scaled() const { return has_a_scale || has_b_scale; }
};

/// Which orders are tried.
enum class Orders : std::uint8_t { all, plain };

/// Returns the models to try; none if D is an integer format and no core's sum is, or the other way
/// round. Some orders that compute what a simpler one does at the longest K of the runs are left
/// out; the search recognises the others (meaning.h). A `detour` is what the epilogue of each model
/// does beside computing and rounding once to nearest: the members `rounding`, `sum`, `through` and
/// `activation`. Endings that it does not change are left out.
std::vector<Candidate> candidates_for(const std::vector<Core>& cores, const KernelFacts& facts,
                                      const Epilogue& detour = {}, Orders which = Orders::all);

/// Returns the detours to try where no model without one explains D.
std::vector<Epilogue> detours_for(const KernelFacts& facts);

/// Returns the models of rare orders (rare_orders.h), to try where the others explain nothing.
std::vector<Candidate> rare_candidates_for(const std::vector<Core>& cores,
                                           const KernelFacts& facts);

}  // namespace binade
