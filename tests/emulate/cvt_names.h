// SPDX-License-Identifier: Apache-2.0
//
// The names of all of PTX's conversions in the table, for tests.
#pragma once

#include <string>

#include "emulate/cvt.h"

namespace binade::test {

/// Calls visit(name) for each conversion.
template <class Visit>
void for_each_name(Visit visit) {
  for_each_ptx_cvt(
      [&](const CvtFamily& family, std::string_view rounding, std::string_view modifiers) {
        visit("cvt" + std::string(rounding) + std::string(modifiers) + "." +
              std::string(family.to) + "." + std::string(family.from));
      });
}

}  // namespace binade::test
