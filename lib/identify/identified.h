// SPDX-License-Identifier: Apache-2.0
//
// The options of `binade identify`, and the search that they describe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

/// The values of the options of the same names. `architectures` has those of --arch, `files` the
/// files of the operands and results of each run of the kernel, and `epilogue` --alpha and --beta.
struct IdentifyOptions {
  RunFiles files;
  KnownEpilogue epilogue;
  std::string propose;  ///< file for operands on which the remaining models differ; empty: none
  std::uint64_t seed = 1;
  std::size_t show = 5;
  bool all = false, json = false;
  std::vector<std::string> architectures;
  bool chains = false, cpu = false;
  double seconds = 0;  ///< the search ends after so many; 0: when it is done
};

/// Throws Error if alpha or beta is not finite, an architecture is not known, or an option has no
/// effect.
void check(const IdentifyOptions& options);
/// Reads the runs, each of them operands and the D that a kernel made of them, and searches for
/// their models. Throws Error as check, read_runs and identify do.
Identification identified(const IdentifyOptions& options, const SearchProgress& progress = {});
/// Returns the most models, and the most rejected models, to print: `show`, or no limit with `all`.
std::size_t shown(const IdentifyOptions& options);

}  // namespace binade
