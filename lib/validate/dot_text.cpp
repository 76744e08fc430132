// SPDX-License-Identifier: Apache-2.0
//
// Writes a dot product as lines of text: the products, then c and both results under each other.
#include "lib/validate/dot_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/number/encoding_text.h"
#include "lib/number/ulp_distance.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

/// Returns a line for each product, except trailing products of zeros: k, then both operands in
/// hexadecimal and as values.
std::string products_text(const Dots& dots, std::size_t row, const Instruction& x) {
  const auto k = static_cast<std::size_t>(x.k);
  const auto a = [&](std::size_t i) { return dots.a[row * k + i]; };
  const auto b = [&](std::size_t i) { return dots.b[row * k + i]; };
  std::size_t n = k;
  while (n > 1 && a(n - 1) == 0 && b(n - 1) == 0) --n;
  const auto side = [](std::uint64_t bits, const Format& f) {
    return hexadecimal(bits, f) + " " + value_text(bits, f);
  };
  std::size_t width = 0;
  for (std::size_t i = 0; i < n; ++i) width = std::max(width, columns_of(side(a(i), x.types.a)));
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    out += fmt::format("  a·b k{:<5}{} · {}\n", i, left_aligned(side(a(i), x.types.a), width),
                       side(b(i), x.types.b));
  }
  return out + (n < k ? fmt::format("  and {} products of zeros\n", k - n) : "");
}

/// Returns a line for the scales of each block.
std::string scales_text(const Dots& dots, std::size_t row, const Instruction& x) {
  const std::size_t number = scales_of_row(x);
  const Format& f = x.model.scaling.format;
  const auto side = [&f](std::uint64_t bits) {
    return hexadecimal(bits, f) + " " + value_text(bits, f);
  };
  std::string out;
  for (std::size_t i = 0; i < number; ++i) {
    out +=
        fmt::format("  {:<10}{} · {}\n", fmt::format("scales {}", i),
                    side(dots.a_scales[row * number + i]), side(dots.b_scales[row * number + i]));
  }
  return out;
}

std::string distance_text(const DotDifference& x, const Format& f) {
  const auto distance = ulp_distance(x.recorded, x.emulated, f);
  return distance ? fmt::format("{} ulp apart", *distance) : "one is NaN";
}

}  // namespace

std::string difference_text(const DotDifference& x, const Dots& dots, const Instruction& how) {
  const auto row = static_cast<std::size_t>(x.row);
  const DotTypes& types = how.types;
  std::string out = fmt::format("row {}: {}\n", x.row, distance_text(x, types.d));
  out += products_text(dots, row, how);
  out += scales_text(dots, row, how);
  const auto line = [&](const char* name, std::uint64_t bits, const Format& f) {
    out += fmt::format("  {:<10}{}  {}\n", name, hexadecimal(bits, f), value_with_digits(bits, f));
  };
  line("c", dots.c[row], types.c);
  line("recorded", x.recorded, types.d);
  line("emulated", x.emulated, types.d);
  return out;
}

}  // namespace binade
