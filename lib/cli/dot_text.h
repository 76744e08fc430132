// SPDX-License-Identifier: Apache-2.0
//
// How a dot product is shown: its operands in hex and value, what was recorded, what is emulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/validate/dots.h"

namespace binade {

std::string hexadecimal(std::uint64_t bits, const Format& f);

/// One row that differs, in lines: the distance, every product, c, both results.
std::string difference_text(const DotDifference& x, const Dots& dots, const Instruction& how);

/// Words of a command line, those that a shell would take apart in quotes.
std::string command_line(const std::vector<std::string>& words);

}  // namespace binade
