// SPDX-License-Identifier: Apache-2.0
//
// The known answers as a table of command lines and the case lines expected from them.
#include "tests/oracle/mpfr/selftest.h"

#include <cstdio>

#include "tests/oracle/mpfr/lines.h"

namespace mpfr_oracle {
namespace {

struct Answer {
  const char* function;
  Environment environment;
  const char* line;
};

constexpr Environment near_even{};
constexpr Environment near_even_before{Rounding::near_even, true};
constexpr Environment near_even_exact{Rounding::near_even, false, true};
constexpr Environment saturating{Rounding::near_even, false, false, true};
constexpr Environment min_mag{Rounding::min_mag};
constexpr Environment down{Rounding::min};
constexpr Environment up{Rounding::max};
constexpr Environment ties_away{Rounding::near_max_mag};
constexpr Environment odd{Rounding::odd};
constexpr Environment odd_exact{Rounding::odd, false, true};

constexpr Answer answers[] = {
    {"f16_add", near_even, "87FF E850 E850 01"},
    {"f16_add", down, "87FF E850 E851 01"},
    {"f16_add", odd, "87FF E850 E851 01"},
    {"f16_mulAdd", near_even, "39C0 C3FE 07FE C1BF 01"},
    {"f16_add", near_even, "3C00 BC00 0000 00"},
    {"f16_add", down, "3C00 BC00 8000 00"},
    {"f16_add", down, "0000 0000 0000 00"},
    {"f16_add", near_even, "3C00 1000 3C00 01"},  // 1 + 2^-11 is a tie
    {"f16_add", near_even, "3C01 1000 3C02 01"},
    {"f16_add", ties_away, "3C00 1000 3C01 01"},
    {"f16_add", odd, "3C00 0001 3C01 01"},
    {"f16_add", odd, "3C01 0001 3C01 01"},
    {"f16_add", near_even, "7BFF 4BFF 7BFF 01"},  // just below half a unit
    {"f16_add", near_even, "7BFF 4C00 7C00 05"},
    {"f16_add", min_mag, "7BFF 7BFF 7BFF 05"},
    {"f16_add", odd, "7BFF 7BFF 7BFF 05"},
    {"f16_add", saturating, "7BFF 7BFF 7BFF 05"},
    {"f16_add", saturating, "FC00 3C00 FBFF 00"},
    {"f16_add", near_even, "7C00 FC00 7E00 10"},
    {"f16_add", near_even, "7C01 3C00 7E00 10"},
    {"f16_add", near_even, "7E01 3C00 7E00 00"},
    {"f16_mul", near_even, "0001 3800 0000 03"},  // half the smallest
    {"f16_mul", ties_away, "0001 3800 0001 03"},
    {"f16_mul", odd, "0001 0001 0001 03"},
    {"f16_mul", up, "8001 0001 8000 03"},
    {"f16_mul", near_even, "07FF 3800 0400 03"},  // 2^-14 (1 - 2^-11): a tie, to the least normal
    {"f16_mul", near_even, "3C01 03FF 0400 01"},  // rounds to 2^-14 at full precision too
    {"f16_mul", near_even_before, "3C01 03FF 0400 03"},
    {"f16_mulAdd", near_even, "0000 7C00 7E00 7E00 10"},
    {"f16_mulAdd", near_even, "0000 3C00 7E00 7E00 00"},
    {"f16_div", near_even, "3C00 8000 FC00 08"},
    {"f16_div", near_even, "0000 8000 7E00 10"},
    {"f16_div", saturating, "3C00 0000 7BFF 08"},
    {"f16_rem", near_even, "4200 4000 BC00 00"},  // 3 rem 2
    {"f16_rem", near_even, "C000 3C00 8000 00"},
    {"f16_sqrt", near_even, "8000 8000 00"},
    {"f16_sqrt", near_even, "BC00 7E00 10"},
    {"f16_sqrt", near_even, "4000 3DA8 01"},
    {"f16_roundToInt", near_even, "4100 4000 00"},  // 2.5
    {"f16_roundToInt", near_even_exact, "B800 8000 01"},
    {"f16_roundToInt", odd_exact, "4100 4200 01"},
    {"f16_roundToInt", odd_exact, "4300 4200 01"},
    {"f16_eq", near_even, "0000 8000 1 00"},
    {"f16_eq", near_even, "7E00 3C00 0 00"},
    {"f16_le", near_even, "7E00 3C00 0 10"},
    {"f16_lt_quiet", near_even, "7C01 3C00 0 10"},
    {"f16_to_i32", near_even, "C100 FFFFFFFE 00"},
    {"f16_to_ui32", near_even, "BC00 00000000 10"},
    {"f64_to_i64", near_even, "C3E0000000000000 8000000000000000 00"},
    {"f64_to_i64", near_even, "43E0000000000000 0000000000000000 10"},
    {"ui32_to_f16", near_even, "0000FFEF 7BFF 01"},  // 65519
    {"ui32_to_f16", near_even, "0000FFF0 7C00 05"},  // 65520
    {"i32_to_e2m1", near_even, "80000000 0F 05"},
    {"tf32_add", near_even, "3F800000 3A000000 3F800000 01"},
    {"f32_to_bf16", near_even, "3F808000 3F80 01"},
    {"f32_to_bf16", near_even, "3F818000 3F82 01"},
    {"e4m3_add", near_even, "7E 58 7E 01"},  // 448 + 16 is a tie between 448 and 480
    {"e4m3_add", near_even, "7E 59 7F 05"},
    {"e4m3_add", min_mag, "7E 59 7E 01"},
    {"e4m3_add", min_mag, "7E 60 7E 05"},
    {"e4m3_add", odd, "7E 50 7E 05"},  // the odd neighbour is 480
    {"e4m3_div", near_even, "38 00 7F 08"},
    {"f16_to_e4m3", near_even, "FC00 7F 00"},
    {"f16_to_e4m3", saturating, "FC00 FE 00"},
    {"f16_to_e2m1", near_even, "7E00 07 10"},
    {"f16_to_e3m2", near_even, "FC00 3F 00"},
    {"e2m1_div", near_even, "0A 00 0F 08"},
    {"e2m1_div", near_even, "00 00 07 10"},
    {"e2m3_roundToInt", near_even, "1F 1F 05"},  // 8 is not there
    {"e2m3_roundToInt", min_mag, "1F 1E 00"},
};

}  // namespace

int selftest() {
  const std::vector<Function> functions = all_functions();
  int differences = 0;
  for (const Answer& answer : answers) {
    const Function* function = function_named(functions, answer.function);
    const Operands operands = operands_of(*function, answer.line);
    std::string computed;
    append_line(*function, operands, function->evaluate(answer.environment, operands), computed);
    computed.pop_back();
    if (computed == answer.line) continue;
    ++differences;
    std::fprintf(stderr, "%s: %s, expected %s\n", answer.function, computed.c_str(), answer.line);
  }
  return differences;
}

}  // namespace mpfr_oracle
