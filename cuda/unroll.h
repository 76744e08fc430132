// SPDX-License-Identifier: Apache-2.0
//
// BINADE_UNROLL before a loop makes nvcc unroll it, so that arrays indexed in it stay in registers.
// For other compilers, not all of which know the pragma, it is empty.
#pragma once

#if defined(__CUDACC__)
#define BINADE_UNROLL _Pragma("unroll")
#else
#define BINADE_UNROLL
#endif
