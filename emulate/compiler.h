// SPDX-License-Identifier: Apache-2.0
//
// What the emulator asks of a compiler: C++20, unsigned __int128 (codec.h), and IEEE arithmetic in
// float and double. Options that reassociate sums, replace divisions, or ignore NaNs, infinities
// and signs of zeros would change bits.
#pragma once

#if __cplusplus < 202002L
#error "binade needs C++20: compile with -std=c++20"
#endif

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "binade computes with IEEE arithmetic: compile without -ffast-math and its parts"
#endif
