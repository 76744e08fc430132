// SPDX-License-Identifier: Apache-2.0
//
// Whether a product hangs on rules that no hardware has shown: elements under the rivals of what is open.
#pragma once

#include <string>

#include "lib/gemm/named_gemm.h"
#include "lib/gemm/operands.h"

namespace binade {

/// "of 1024 elements looked at, 12 touch signs of zero (open)"; empty: none does, all is known, the rules are
/// chosen ones, or it is a chain. Elements
/// are taken evenly from D, as many as some 2^22 products make.
std::string touched_text(const NamedGemm& named, const GemmOperands& operands);

}  // namespace binade
