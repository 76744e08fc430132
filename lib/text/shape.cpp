// SPDX-License-Identifier: Apache-2.0
//
// Joins the sides of a shape with commas; a single side keeps its comma, as in Python's tuples.
#include "lib/text/shape.h"

namespace binade {

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string out;
  for (const std::uint64_t n : shape) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "(" + out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace binade
