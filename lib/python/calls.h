// SPDX-License-Identifier: Apache-2.0
//
// Makes wrong arguments raise TypeError with one line.
#pragma once

#include <nanobind/nanobind.h>

namespace binade::python {

/// From this call on, the functions of m and the methods of its classes raise TypeError with the
/// one line of _calls.py if arguments do not fit, in the place of nanobind's many.
void refuse_in_one_line(nanobind::module_& m);

}  // namespace binade::python
