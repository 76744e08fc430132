// SPDX-License-Identifier: Apache-2.0
//
// Reads which rows are in which group, and checks that it can be.
#include "lib/gemm/row_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/io/opened_tensor.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Reads a vector of integers.
std::vector<std::int64_t> read_integers(const std::string& where, std::size_t wanted,
                                        const std::string& of_what) {
  const OpenedTensor tensor = open_tensor(where);
  const TensorInfo& info = tensor.info();
  if (info.dtype.kind != DtypeKind::integer) {
    throw error_in(where, fmt::format("dtype {}", info.dtype.name), "--groups takes integers");
  }
  if (info.shape.size() != 1 || info.shape[0] != wanted) {
    throw error_in(where, "shape " + shape_text(info.shape),
                   fmt::format("{} has {} numbers here: give the file's layout by --group-layout",
                               of_what, wanted));
  }
  const bool is_signed = info.dtype.name.starts_with('I');
  const auto shift = static_cast<int>(64 - info.dtype.bits);
  std::vector<std::int64_t> out;
  for (const std::uint64_t bits : read_elements(*tensor.file, tensor.index)) {
    const std::uint64_t high = bits << shift;
    out.push_back(is_signed ? static_cast<std::int64_t>(high) >> shift
                            : static_cast<std::int64_t>(high >> shift));
  }
  return out;
}

}  // namespace

std::vector<GroupedRows> grouped_rows(const RowGroups& groups, std::size_t rows) {
  if (!groups.any()) return {{0, rows, 0}};
  std::vector<GroupedRows> out;
  for (std::size_t i = 0, end = 0; i < rows; i = end) {
    const std::int32_t group = groups.of_row[i];
    for (end = i + 1; end < rows && groups.of_row[end] == group;) ++end;
    if (group >= 0) out.push_back({i, end - i, static_cast<std::size_t>(group)});
  }
  return out;
}

std::size_t rows_in_groups(const RowGroups& groups, std::size_t rows) {
  if (!groups.any()) return rows;
  return static_cast<std::size_t>(
      std::ranges::count_if(groups.of_row, [](std::int32_t group) { return group >= 0; }));
}

const GroupLayout& find_group_layout(const std::string& name) {
  const auto row = std::ranges::find(group_layouts, name, &GroupLayout::name);
  if (row != group_layouts.end()) return *row;
  throw Error("--group-layout " + printable(name) + ": no such layout" +
              did_you_mean(name, names_of(group_layouts)) + "; there are " +
              listed(names_of(group_layouts)));
}

RowGroups read_row_groups(const std::string& where, const GroupLayout& layout, std::size_t count,
                          std::size_t rows, std::size_t stack) {
  const bool of_rows = layout.numbers == GroupNumbers::groups;
  const bool are_ends = layout.numbers == GroupNumbers::ends;
  const std::vector<std::int64_t> numbers = read_integers(
      where, of_rows ? rows : count,
      fmt::format("--groups of {} B and {} rows of A in the layout {}", count, rows, layout.name));
  RowGroups out{count, std::vector<std::int32_t>(rows, -1), stack};
  const auto whole = [](std::size_t x) { return static_cast<std::int64_t>(x); };
  std::int64_t first = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t x = numbers[i];
    if (of_rows) {
      if (x < -1 || x >= whole(count)) {
        throw error_in(where, fmt::format("row {} is in group {}", i, x),
                       fmt::format("there are groups 0 to {}, and -1 for none", count - 1));
      }
      out.of_row[i] = static_cast<std::int32_t>(x);
      continue;
    }
    if (layout.is_stack) first = whole(i * stack);
    const std::int64_t step = whole(layout.step);
    first = (first + step - 1) / step * step;
    const std::int64_t left =
        layout.is_stack ? whole(stack) : std::max<std::int64_t>(whole(rows) - first, 0);
    const std::int64_t size = are_ends ? x - first : x;
    if (size < 0 || size > left) {
      throw error_in(where,
                     are_ends ? fmt::format("group {} ends before row {}", i, x)
                              : fmt::format("group {} has {} rows", i, x),
                     fmt::format("it begins with row {}, from which on A has {}",
                                 layout.is_stack ? 0 : first, left));
    }
    const auto from = out.of_row.begin() + first;
    std::fill(from, from + size, static_cast<std::int32_t>(i));
    first += size;
  }
  if (rows_in_groups(out, rows) == 0) {
    throw error_in(where, "no row is in a group", "there is nothing to multiply");
  }
  return out;
}

}  // namespace binade
