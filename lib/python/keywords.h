// SPDX-License-Identifier: Apache-2.0
//
// Arguments that many functions have, as the program takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "lib/cli/attribute_options.h"

namespace binade::python {

namespace nb = nanobind;

/// `flush`: none, results (FTZ), operands (DAZ) or both; Error for another word.
AttributeOptions attribute_options(std::string_view rounding, std::string_view saturation,
                                   std::string_view nan, std::string_view flush, int random_bits);

/// Whether it names a file: a str, or what has __fspath__.
bool is_path(nb::handle x);
/// That name. TypeError for what names none.
std::string path_of(nb::handle x);

/// A str as UTF-8. ValueError for surrogates, which UTF-8 does not have.
std::string utf8_of(nb::handle x);
/// The same of an argument. TypeError for what is no text, with the argument's name.
std::string argument_text(std::string_view key, nb::handle x);

bool is_list(nb::handle x);  ///< or a tuple
/// One, or the members of a list or a tuple; none of None.
std::vector<nb::object> in_list(nb::handle x);

}  // namespace binade::python
