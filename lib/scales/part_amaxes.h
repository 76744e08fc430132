// SPDX-License-Identifier: Apache-2.0
//
// What an amax that is not the tensor's may be: that of a part, or the tensor's by a factor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/scales/scale_work.h"

namespace binade {

/// What a scale of the tensor may have been multiplied by.
struct NamedFactor {
  double factor;
  std::string_view words;
};

extern const std::span<const NamedFactor> factors_of_tensor;

/// Returns what an amax is beside that of the tensor: "1.5 times the tensor's", "that of part 1 of
/// 2 of the rows".
std::string amax_words(const ReadingWork& work, const ScaleRule& rule, std::uint32_t amax);

}  // namespace binade
