// SPDX-License-Identifier: Apache-2.0
//
// Emulates rows in parallel, and compares.
#include "lib/validate/dots.h"

#include "lib/device/dot_products.h"

namespace binade {
DotCheck check_dots(const Dots& dots, const Instruction& instruction, std::size_t keep) {
  const std::vector<std::uint64_t> emulated = dots_of(instruction, dots);
  DotCheck out{.rows = dots.d.size()};
  for (std::size_t i = 0; i < dots.d.size(); ++i) {
    if (dots.d[i] == emulated[i]) continue;
    out.different += 1;
    if (out.first.size() < keep) out.first.push_back({i, dots.d[i], emulated[i]});
  }
  return out;
}

}  // namespace binade
