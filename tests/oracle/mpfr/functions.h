// SPDX-License-Identifier: Apache-2.0
//
// The functions that test cases are about, named as Berkeley TestFloat names them: the types of
// their operands and results, and their value by MPFR.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/oracle/mpfr/rounding.h"

namespace mpfr_oracle {

struct Integer {
  const char* name;
  int bits;
  bool is_signed;
};

// The type of an operand or result: a format, an integer or, if both are null, a truth value.
struct Kind {
  const Format* format = nullptr;
  const Integer* integer = nullptr;

  int container_bits() const;
};

using Operands = std::array<std::uint64_t, 3>;

struct Function {
  std::string name;
  std::vector<Kind> operands;
  Kind result;
  std::function<Outcome(const Environment&, const Operands&)> evaluate;
};

std::vector<Function> all_functions();

}  // namespace mpfr_oracle
