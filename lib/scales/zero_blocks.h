// SPDX-License-Identifier: Apache-2.0
//
// Blocks of zeros, whose scales a kernel may choose as it likes: any gives zeros.
#pragma once

#include "lib/scales/scale_work.h"

namespace binade {

/// Marks the blocks of zeros as free if all of them have one scale.
void free_zero_blocks(const ReadingWork& work, StoredScales& stored);

/// Tells of a nearest rule that gives every scale but those of blocks of zeros, which are one, and
/// of numbers that are all zeros.
void tell_zero_blocks(const Quantized& given, ScaleFinding& finding);

/// Tells of codes that are all zeros, where numbers are not. Returns whether they are.
bool tell_zero_codes(const Quantized& given, ScaleFinding& finding);

}  // namespace binade
