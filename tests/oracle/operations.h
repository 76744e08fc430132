// SPDX-License-Identifier: Apache-2.0
//
// What an operation means, on exact numbers: IEEE 754-2019 clauses 5.3.1, 5.4.1, 6.1 to 6.3, 7.2,
// 7.3 and 9.6. The answer is a Value that Oracle::round rounds like the exact one, and the two
// exceptions that belong to operations rather than to rounding.
#pragma once

#include "tests/oracle/oracle.h"

namespace oracle {

enum class Operation {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  square_root,
  multiply_add,
  minimum,
  maximum,
  minimum_number,
  maximum_number
};

struct Computed {
  Value value;
  bool invalid = false, divide_by_zero = false;
};

/// Operands that the operation does not have are ignored. The way decides the sign of zero sums.
Computed compute(Operation operation, const Value& a, const Value& b, const Value& c, Way way);

/// Whether a finite value lies halfway between two neighbours on the format's grid.
bool halfway(const Value& value, const Spec& spec);

}  // namespace oracle
