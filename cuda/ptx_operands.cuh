// SPDX-License-Identifier: Apache-2.0
//
// Text of asm statements for the operands of Tensor Core instructions. BINADE_OPERANDS_4224 is the
// text of the register vectors d, a, b and c with 4, 2, 2 and 4 registers, numbered from %0;
// BINADE_LIST writes the constraints of such a vector.
#pragma once

#include <cstdint>

#include "cuda/ptx_archs.cuh"

namespace binade {

using word32 = std::uint32_t;
using word64 = std::uint64_t;

}  // namespace binade

// clang-format off
#define BINADE_OPERANDS_2112 "{%0, %1}, {%2}, {%3}, {%4, %5}"
#define BINADE_OPERANDS_2212 "{%0, %1}, {%2, %3}, {%4}, {%5, %6}"
#define BINADE_OPERANDS_2422 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9}"
#define BINADE_OPERANDS_4214 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10}"
#define BINADE_OPERANDS_4224 "{%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%8, %9, %10, %11}"
#define BINADE_OPERANDS_4424 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13}"
#define BINADE_OPERANDS_4844 \
  "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, " \
  "{%12, %13, %14, %15}, {%16, %17, %18, %19}"
#define BINADE_OPERANDS_8224 \
  "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, " \
  "{%10, %11}, {%12, %13, %14, %15}"
#define BINADE_OPERANDS_8228 \
  "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, " \
  "{%10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19}"
#define BINADE_OPERANDS_2222 "{%0, %1}, {%2, %3}, {%4, %5}, {%6, %7}"
#define BINADE_OPERANDS_2442 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7, %8, %9}, {%10, %11}"
#define BINADE_OPERANDS_4444 \
  "{%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
  "{%8, %9, %10, %11}, {%12, %13, %14, %15}"
#define BINADE_OPERANDS_8888 \
  "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, " \
  "{%16, %17, %18, %19, %20, %21, %22, %23}, {%24, %25, %26, %27, %28, %29, %30, %31}"
#define BINADE_OPERANDS_8884 \
  "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, " \
  "{%16, %17, %18, %19, %20, %21, %22, %23}, {%24, %25, %26, %27}"
#define BINADE_OPERANDS_4888 \
  "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, " \
  "{%12, %13, %14, %15, %16, %17, %18, %19}, {%20, %21, %22, %23, %24, %25, %26, %27}"
#define BINADE_OPERANDS_4884 \
  "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, " \
  "{%12, %13, %14, %15, %16, %17, %18, %19}, {%20, %21, %22, %23}"
#define BINADE_OPERANDS_8448 \
  "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, " \
  "{%12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}"
#define BINADE_OPERANDS_8828 \
  "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, " \
  "{%16, %17}, {%18, %19, %20, %21, %22, %23, %24, %25}"
#define BINADE_OPERANDS_8288 \
  "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, " \
  "{%10, %11, %12, %13, %14, %15, %16, %17}, {%18, %19, %20, %21, %22, %23, %24, %25}"
// The numbers of registers of d, a, b and c as four macro arguments.
#define BINADE_COUNTS_2112 2, 1, 1, 2
#define BINADE_COUNTS_2212 2, 2, 1, 2
#define BINADE_COUNTS_2422 2, 4, 2, 2
#define BINADE_COUNTS_2222 2, 2, 2, 2
#define BINADE_COUNTS_2442 2, 4, 4, 2
#define BINADE_COUNTS_4214 4, 2, 1, 4
#define BINADE_COUNTS_4224 4, 2, 2, 4
#define BINADE_COUNTS_4424 4, 4, 2, 4
#define BINADE_COUNTS_4444 4, 4, 4, 4
#define BINADE_COUNTS_4844 4, 8, 4, 4
// clang-format on

// The first `n` elements of the array `r` as asm operands with one constraint: "=r"(d[0]),
// "=r"(d[1]).
#define BINADE_LIST(n, constraint, r) BINADE_LIST_##n(constraint, r)
#define BINADE_LIST_1(k, r) k(r[0])
#define BINADE_LIST_2(k, r) k(r[0]), k(r[1])
#define BINADE_LIST_4(k, r) k(r[0]), k(r[1]), k(r[2]), k(r[3])
#define BINADE_LIST_8(k, r) BINADE_LIST_4(k, r), k(r[4]), k(r[5]), k(r[6]), k(r[7])

// The constraint letters of registers of 32 and 64 bits. ptxas takes f32 in an untyped register,
// too.
#define BINADE_LETTER_word32 "r"
#define BINADE_LETTER_word64 "l"
