// SPDX-License-Identifier: Apache-2.0
//
// Asks nvcc to write a loop out, so that arrays indexed in it stay in registers; g++ knows no such pragma.
#pragma once

#if defined(__CUDACC__)
#define BINADE_UNROLL _Pragma("unroll")
#else
#define BINADE_UNROLL
#endif
