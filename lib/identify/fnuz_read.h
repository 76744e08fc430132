// SPDX-License-Identifier: Apache-2.0
//
// FP8 of AMD's CDNA3 in the place of OCP's.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Whether some of these codes of e4m3 or e5m2 are NaNs or infinities, which stand for numbers in
/// e4m3fnuz and e5m2fnuz.
bool has_more_in_fnuz(const std::vector<std::uint64_t>& codes, const Format& f);

/// Returns the changes that read e4m3 as e4m3fnuz and e5m2 as e5m2fnuz, in A, in B and in both,
/// where no code has more in fnuz (misread.h has those): half of each number, and a NaN for -0,
/// whatever its bits. Where an operand holds no -0, only the factor is told. They refer to the
/// arrays of the case.
std::vector<Change> read_as_fnuz(const KernelCase& given);

}  // namespace binade
