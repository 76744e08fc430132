// SPDX-License-Identifier: Apache-2.0
//
// The definitions of operations on exact numbers: IEEE 754-2019 clauses 5.3.1, 5.4.1, 6.1 to 6.3,
// 7.2, 7.3 and 9.6. The answer is a Value that Oracle::round rounds like the exact result, and the
// two exceptions that operations raise rather than rounding.
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

/// An exact result and the exceptions that the operation itself raises.
struct Computed {
  Value value;
  bool invalid = false, divide_by_zero = false;
};

/// Returns the result. Operands that the operation does not have are ignored. The rounding
/// direction `way` decides the sign of a sum that is zero.
Computed compute(Operation operation, const Value& a, const Value& b, const Value& c, Way way);

/// Returns whether a finite value lies halfway between two neighbours on the format's grid.
bool halfway(const Value& value, const Spec& spec);

}  // namespace oracle
