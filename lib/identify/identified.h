// SPDX-License-Identifier: Apache-2.0
//
// What `binade identify` is asked for, and the search for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/identify/identification.h"

namespace binade {

struct IdentifyOptions {
  RunFiles files;
  KnownEpilogue epilogue;
  std::string propose;
  std::uint64_t seed = 1;
  std::size_t show = 5;
  bool all = false, json = false;
  std::vector<std::string> architectures;
  bool chains = false, cpu = false;
};

/// Error: what of the options does not go together.
void check(const IdentifyOptions& options);
Identification identified(const IdentifyOptions& options, const SearchProgress& progress = {});
/// How many models, and how many of the rejected, are told.
std::size_t shown(const IdentifyOptions& options);

}  // namespace binade
