// SPDX-License-Identifier: Apache-2.0
//
// Keywords that many functions have, as the options of the program that mean the same.
#pragma once

#include <string_view>

#include "lib/cli/attribute_options.h"

namespace binade::python {

/// `flush`: none, results (FTZ), operands (DAZ) or both; Error for another word.
AttributeOptions attribute_options(std::string_view rounding, std::string_view saturation,
                                   std::string_view nan, std::string_view flush, int random_bits);

}  // namespace binade::python
