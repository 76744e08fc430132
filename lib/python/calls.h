// SPDX-License-Identifier: Apache-2.0
//
// Refusals of arguments in one line.
#pragma once

#include <nanobind/nanobind.h>

namespace binade::python {

/// From now on the functions and the methods of the classes of m refuse arguments as _calls.py words it.
void refuse_in_one_line(nanobind::module_& m);

}  // namespace binade::python
