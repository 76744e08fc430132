// SPDX-License-Identifier: Apache-2.0
//
// The functions of a stream of cases, named as Berkeley TestFloat names them: what operands they
// take, what they give, and their value by MPFR.
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

// One operand or result: a format, an integer or, as a result, a truth value.
struct Kind {
  const Format* format = nullptr;
  const Integer* integer = nullptr;

  int container_bits() const;
  int bits() const;  // the ones that vary
};

// What the operands that hurt depend on.
enum class Family {
  sum,
  product,
  quotient,
  fused,
  remainder,
  root,
  to_integer,
  comparison,
  from_integer,
  conversion,
};

using Operands = std::array<std::uint64_t, 3>;

struct Function {
  std::string name;
  Family family;
  std::vector<Kind> operands;
  Kind result;
  std::function<Outcome(const Environment&, const Operands&)> evaluate;
};

std::vector<Function> all_functions();

}  // namespace mpfr_oracle
