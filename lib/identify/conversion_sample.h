// SPDX-License-Identifier: Apache-2.0
//
// The finite numbers that a converter was given: what they reach, and some of them that tell
// roundings, ends of ranges and formats apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/identify/conversion.h"

namespace binade {

/// A pair of an input and its code.
struct CodePair {
  std::uint64_t input = 0, code = 0;
  std::uint64_t first = 0;  ///< its first element
  std::uint64_t count = 0;  ///< elements that have it
};

/// Sorts the pairs by input and code, and leaves each once, with its first element and its count.
void join_equal(std::vector<CodePair>& pairs);

struct ConversionSample {
  Reached reached;
  std::vector<std::size_t> indices;  ///< of pairs: a few of those that lie alike on every grid
};

/// Looks at all pairs, each of which is there once, on all threads.
ConversionSample sample_of(const Converted& given, std::span<const CodePair> pairs);

}  // namespace binade
