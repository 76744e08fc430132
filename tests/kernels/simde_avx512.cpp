// SPDX-License-Identifier: Apache-2.0
//
// The level `avx512` once more, its intrinsics in software and under names of its own.
#define BINADE_AVX512_INTRINSICS "tests/kernels/simde_avx512.h"
#define Avx512 SoftwareAvx512
#define Avx512Integers SoftwareAvx512Integers
#define avx512_kernels software_avx512_kernels

#include "emulate/fast/avx512.cpp"
