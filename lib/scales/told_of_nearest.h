// SPDX-License-Identifier: Apache-2.0
//
// What may have happened where the nearest rules say it themselves: another form of the scale of
// the tensor, other NaNs, one scale for all, scales of other blocks than those of the codes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/scales/scale_work.h"

namespace binade {

/// Adds a hypothesis that leaves a quarter at most of what `base` leaves unequal, unless a better
/// one is there that leaves nothing. Returns whether it was added.
bool tell(ScaleFinding& finding, const ScaleHypothesis& x, std::uint64_t base);

/// Tells of a scale of the tensor that is a rule's in another form than names say, or that is not
/// the one under which scales and codes are the rule's.
void tell_other_form(const Quantized& given, ScaleFinding& finding);

/// Tells of rules that explain all but which NaN a NaN is: each machine has its own.
void tell_nans(const Quantized& given, ScaleFinding& finding);

/// Tells of scales that are all the same, where those of the nearest rule are not.
void tell_constant(const Quantized& given, ScaleFinding& finding);

/// Tells of scales that are a rule's of other blocks than those of `reading`, of which codes are.
void tell_other_blocks(const Quantized& given, std::span<const ScaleRuleFit> all,
                       std::size_t reading, ScaleFinding& finding);

/// Returns how many stored scales have the code that most have: so many a rule may give without a
/// block.
std::uint64_t most_of_one(const std::vector<std::uint32_t>& codes);

/// Returns the stored scales of a reading, row by row.
std::vector<std::uint32_t> codes_of_scales(const Quantized& given, const ScaleReading& reading,
                                           std::size_t order);

}  // namespace binade
