// SPDX-License-Identifier: Apache-2.0
//
// Compares what a kernel gave with what a model gives: which elements differ, how far, and whether
// another order or rounding could explain them.
//
//     const binade::GemmCheck check = binade::check_gemm(kernel.model, operands, given, 5, 16, 16);
//     if (check.different.count != 0) std::cout << check.different.first[0].row;
#pragma once

#include "lib/public/gemm.h"
#include "lib/validate/gemm.h"
