// SPDX-License-Identifier: Apache-2.0
//
// Codes and scales that nobody wrote: rows or columns of one value, where numbers are others.
//
//     codes    2B 91 07 55        rows 2..3 are all 00, as a tail that a kernel's grid does not cover
//              …
//              00 00 00 00
#pragma once

#include <cstdint>
#include <vector>

#include "lib/scales/scale_search.h"
#include "lib/scales/suspected_codes.h"

namespace binade {

/// Tells of codes that hold one value in whole rows or columns, where x leaves them unequal; these
/// are the marks of `unequal`.
void tell_unwritten_codes(const Quantized& given, const SuspectedCodes& x,
                          const std::vector<bool>& unequal, std::uint64_t base,
                          ScaleFinding& finding);

/// Tells of scales that hold one value in whole rows or columns, where the nearest rule's are
/// others.
void tell_unwritten_scales(const Quantized& given, ScaleFinding& finding);

}  // namespace binade
