// SPDX-License-Identifier: Apache-2.0
//
// Random operands in the spirit of TestFloat's: uniform encodings seldom meet, so most draws have
// few significant bits, exponents at the ends or an exponent near the previous operand's.
#pragma once

#include <cstdint>
#include <random>

#include "tests/oracle/mpfr/functions.h"

namespace mpfr_oracle {

// Only the engine's raw output is used, so a seed gives the same operands everywhere.
using Engine = std::mt19937_64;

// Returns a random integer of [0, bound).
std::uint64_t below(Engine& engine, std::uint64_t bound);

// Returns an integer of `bits` bits that consists of two or three runs of ones and zeros.
std::uint64_t few_bits(Engine& engine, int bits);

// Returns a finite number whose exponent field is within a quarter of the range around the bias.
std::uint64_t moderate_operand(const Format& format, Engine& engine);

// Returns a number of at most `significant` bits whose exponent is near zero.
std::uint64_t short_operand(const Format& format, int significant, Engine& engine);

std::uint64_t random_operand(const Kind& kind, std::uint64_t previous, Engine& engine);

}  // namespace mpfr_oracle
