// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing cases as Berkeley TestFloat does, and looking up the words of the command
// line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/oracle/mpfr/functions.h"

namespace mpfr_oracle {

// Appends the operands, the result and the flags, and a newline.
void append_line(const Function& function, const Operands& operands, const Outcome& outcome,
                 std::string& text);

// Returns the operands of a line; what stands behind them is left.
Operands operands_of(const Function& function, const std::string& line);

// Returns the rounding of this name, or nothing if there is none.
std::optional<Rounding> rounding_named(std::string_view word);

// Returns the function of this name, or null if there is none.
const Function* function_named(const std::vector<Function>& functions, std::string_view name);

}  // namespace mpfr_oracle
