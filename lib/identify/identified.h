// SPDX-License-Identifier: Apache-2.0
//
// The options of `binade identify`, and the search that they describe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// The values of the options of the same names (architectures: --arch).
struct IdentifyOptions {
  RunFiles files;
  KnownEpilogue epilogue;
  std::string propose;  ///< file for the proposal; empty: none is made
  std::uint64_t seed = 1;
  std::size_t show = 5;
  bool all = false, json = false;
  std::vector<std::string> architectures;
  bool chains = false, cpu = false;
};

/// Throws Error if alpha or beta is not finite, or an architecture is not known.
void check(const IdentifyOptions& options);
/// Reads the runs and searches for their models. Throws Error as check, read_runs and identify do.
Identification identified(const IdentifyOptions& options, const SearchProgress& progress = {});
/// Returns how many models, and how many of the rejected ones, are printed.
std::size_t shown(const IdentifyOptions& options);

}  // namespace binade
