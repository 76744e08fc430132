// SPDX-License-Identifier: Apache-2.0
//
// Scales of a tensor that lie over those of blocks: which are tried, and what a stored one is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/scales/scale_work.h"

namespace binade {

/// Returns the scales of the tensor that are tried with a rule, that of its own amax first.
/// `imagined` says whether those are tried, too, that a file would not have.
std::vector<TensorScaleChoice> tensor_scale_choices(const ReadingWork& work,
                                                    const NamedScaleRule& row, bool imagined);

/// Returns a part of the scale of a tensor.
std::uint32_t part_of(const TensorScale& scale, TensorScalePart part);

/// Returns which part of the scale of a tensor a stored number is, if it is one.
std::optional<TensorScalePart> part_that_is(const TensorScale& scale, std::uint32_t stored);

/// Returns the scale of a tensor whose part is what is stored, by the amax from which the rule
/// gives it, or as near as it comes.
TensorScale scale_of_part(const ScaleRule& rule, const BlockFormat& format, TensorScalePart part,
                          std::uint32_t stored);

/// Returns "what values are multiplied by".
std::string_view part_words(TensorScalePart part);

/// Returns whether a stored part is that of an amax, by a rule or, of what values are multiplied
/// by, by another way of dividing: by the product of both largest numbers at once, by one and then
/// the other, or times its reciprocal. These are an ulp apart.
bool is_scale_of_amax(const ScaleRule& rule, const BlockFormat& format, TensorScalePart part,
                      std::uint32_t amax, std::uint32_t stored);

}  // namespace binade
