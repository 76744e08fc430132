// SPDX-License-Identifier: Apache-2.0
//
// Checks that the matrices of a product are as large as m, n and k say.
#include "lib/gemm/operands.h"

#include <algorithm>
#include <string>

#include "lib/text/error.h"

namespace binade {

void require_elements(std::string_view what, std::size_t size, std::size_t wanted) {
  if (size == wanted) return;
  throw Error(std::string(what) + ": " + std::to_string(size) +
              " elements; by m, n and k there are " + std::to_string(wanted));
}

void check(const OperandSizes& x) {
  constexpr std::size_t most_k = std::size_t{1} << 30, most_rows = std::size_t{1} << 31;
  if (x.m == 0 || x.n == 0 || x.m > most_rows || x.n > most_rows || x.k > most_k) {
    throw Error("m, n and k: sizes from 1 on are wanted, k up to 2^30, m and n up to 2^31");
  }
  require_elements("a", x.a, x.m * x.k);
  const std::size_t columns = x.n * x.groups;
  require_elements("b", x.b, x.k * columns);
  require_elements("c", x.c, x.c == 0 ? 0 : x.m * x.n);
  require_elements("bias", x.bias, x.bias == 0 ? 0 : columns);
  require_elements("a_scale", x.a_scale, x.a_scale == 0 ? 0 : x.m);
  require_elements("b_scale", x.b_scale, x.b_scale == 0 ? 0 : columns);
  require_elements("runs.a", x.a_runs, x.a_runs == 0 ? 0 : x.m * x.runs);
  require_elements("runs.b", x.b_runs, x.b_runs == 0 ? 0 : columns * x.runs);
  require_elements("groups.of_row", x.grouped_rows, x.grouped_rows == 0 && x.groups == 1 ? 0 : x.m);
}

namespace {

/// Appends `count` lines of `width` elements each, the first of which is line `first`.
template <class T>
void add_lines(std::vector<T>& to, const std::vector<T>& from, std::size_t first, std::size_t count,
               std::size_t width) {
  if (from.empty()) return;
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first * width);
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count * width));
}

}  // namespace

std::string special_scales(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                           const RunScales& runs, std::size_t k) {
  const auto is_special = [](std::uint64_t scale) { return (scale & 0x7F800000) == 0x7F800000; };
  std::string out;
  const auto tell = [&](const auto& scales, const char* matrix, const char* line,
                        std::size_t each) {
    const auto first = std::ranges::find_if(scales, is_special);
    if (first == scales.end()) return;
    const auto count = std::ranges::count_if(scales, is_special);
    const auto at = static_cast<std::size_t>(first - scales.begin());
    out += (out.empty() ? "" : "; ") + std::to_string(count) +
           (count == 1 ? " scale of " : " scales of ") + matrix +
           (count == 1 ? " is NaN or infinite, of " : " are NaN or infinite, the first of ") +
           line + " " + std::to_string(at / each);
    if (each != 1) out += ", run " + std::to_string(at % each) + " of K";
  };
  const std::size_t each = runs.count(k);
  tell(a, "A", "row", 1);
  tell(b, "B", "column", 1);
  tell(runs.a, "A", "row", each == 0 ? 1 : each);
  tell(runs.b, "B", "column", each == 0 ? 1 : each);
  return out;
}

void RunScales::divide(std::size_t to, std::size_t k) {
  const std::size_t before = count(k), times = length / to;
  length = to;
  const std::size_t after = count(k);
  for (std::vector<std::uint32_t>* const scales : {&a, &b}) {
    std::vector<std::uint32_t> out;
    for (std::size_t first = 0; first < scales->size(); first += before) {
      for (std::size_t run = 0; run < after; ++run) out.push_back((*scales)[first + run / times]);
    }
    *scales = std::move(out);
  }
}

GemmOperands product_of_group(const GemmOperands& x, std::size_t group) {
  GemmOperands out;
  out.n = x.n;
  out.k = x.k;
  out.runs.length = x.runs.length;
  const std::size_t runs = x.runs.count(x.k), column = group * x.n;
  add_lines(out.b, x.b, column, x.n, x.k);
  add_lines(out.bias, x.bias, column, x.n, 1);
  add_lines(out.b_scale, x.b_scale, column, x.n, 1);
  add_lines(out.runs.b, x.runs.b, column, x.n, runs);
  for (const GroupedRows& rows : grouped_rows(x.groups, x.m)) {
    if (rows.group != group) continue;
    out.m += rows.count;
    add_lines(out.a, x.a, rows.first, rows.count, x.k);
    add_lines(out.c, x.c, rows.first, rows.count, x.n);
    add_lines(out.a_scale, x.a_scale, rows.first, rows.count, 1);
    add_lines(out.runs.a, x.runs.a, rows.first, rows.count, runs);
  }
  return out;
}

}  // namespace binade
