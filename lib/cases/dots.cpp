// SPDX-License-Identifier: Apache-2.0
//
// Takes rows of dot products apart, and puts them together. Each part has the same number of words
// for every row.
#include "lib/cases/dots.h"

#include <algorithm>

namespace binade {

RowOperands operands_of_rows(const Dots& rows, std::size_t a, std::size_t b, std::size_t c) {
  const std::size_t k = rows.a.size() / rows.c.size();
  RowOperands out{rows.a.data() + a * k, rows.b.data() + b * k, rows.c[c]};
  const std::size_t scales = rows.a_scales.size() / rows.c.size();
  out.has_scales = scales != 0;
  for (std::size_t i = 0; i < scales; ++i) {
    out.a_scales[i] = static_cast<std::uint8_t>(rows.a_scales[a * scales + i]);
    out.b_scales[i] = static_cast<std::uint8_t>(rows.b_scales[b * scales + i]);
  }
  return out;
}

std::uint64_t dot_of_row(const Instruction& x, const RowOperands& row) {
  return dot(x.model, x.types, row.a, row.b, x.k, row.c, NoTrace{}, row.scales());
}

Dots chosen_rows(const Dots& from, std::span<const std::size_t> rows) {
  Dots out;
  if (from.c.empty()) return out;
  for (const auto part : dot_parts) {
    const std::size_t width = (from.*part).size() / from.c.size();
    (out.*part).reserve(width * rows.size());
    for (const std::size_t row : rows) {
      const auto first = (from.*part).begin() + static_cast<std::ptrdiff_t>(row * width);
      (out.*part).insert((out.*part).end(), first, first + static_cast<std::ptrdiff_t>(width));
    }
  }
  return out;
}

void append(Dots& to, const Dots& rows) {
  for (const auto part : dot_parts) {
    (to.*part).insert((to.*part).end(), (rows.*part).begin(), (rows.*part).end());
  }
}

}  // namespace binade
