// SPDX-License-Identifier: Apache-2.0
//
// Suspicions of amaxes: those of several blocks, of each tensor of a stack, of a part of a tensor,
// or another scale of the tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/scales/kept_scales.h"

namespace binade {

/// Tries scales that a rule makes of other amaxes than those of blocks and of the tensor.
void try_amaxes(const KeptScales& kept, const ReadingWork& work, std::size_t reading,
                const NamedScaleRule& rule, std::span<const TensorScaleChoice> choices,
                std::span<const StoredScales> stored);

}  // namespace binade
