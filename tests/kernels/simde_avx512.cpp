// SPDX-License-Identifier: Apache-2.0
//
// The level `avx512` once more, its intrinsics in software and under names of its own.
#include "tests/kernels/simde_avx512.h"

#define BINADE_INTRINSICS_IN_SOFTWARE
#define Avx2 SoftwareAvx2
#define Avx2Integers SoftwareAvx2Integers
#define Avx2Codes SoftwareAvx2Codes
#define Avx2Exponents SoftwareAvx2Exponents
#define Avx512 SoftwareAvx512
#define Avx512Codes SoftwareAvx512Codes
#define Avx512Integers SoftwareAvx512Integers
#define avx512_kernels software_avx512_kernels

#include "emulate/fast/avx512.cpp"
