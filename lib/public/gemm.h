// SPDX-License-Identifier: Apache-2.0
//
// Whole matrix products, every bit as a kernel of Tensor Core instructions gives it, on all
// threads.
//
//     const auto kernel = binade::parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);  // of sm_90
//     const auto d = binade::gemm(kernel.model, binade::rounded_operands(kernel.model, {m, n, k, a, b}));
#pragma once

#include "lib/gemm/gemm.h"
#include "lib/gemm/matrices.h"
#include "lib/gemm/model_check.h"
#include "lib/gemm/named_gemm.h"
#include "lib/public/emulate.h"
#include "lib/public/error.h"
