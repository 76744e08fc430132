// SPDX-License-Identifier: Apache-2.0
//
// Shapes of arrays as text: one number after another.
#include "lib/text/shape.h"

namespace binade {

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string out;
  for (const std::uint64_t n : shape) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "(" + out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace binade
