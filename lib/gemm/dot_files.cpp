// SPDX-License-Identifier: Apache-2.0
//
// Reads whole arrays as rows of dot products.
#include "lib/gemm/dot_files.h"

#include <algorithm>

#include "lib/gemm/files.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

/// Reads an array of shape (rows,) or (rows, 1).
std::vector<std::uint64_t> read_column(const std::string& path, const Format& format,
                                       const char* what) {
  Array array = read_array(path, format, {.what = "--" + std::string(what), .may_round = false});
  const bool column = array.shape.size() == 2 && array.shape[1] == 1;
  if (array.shape.size() != 1 && !column) {
    throw error_in(path, "shape " + shape_text(array.shape),
                   "--" + std::string(what) + " is of shape (rows,)");
  }
  return std::move(array.elements);
}

std::vector<std::uint64_t> read_rows(const std::string& path, const Format& format,
                                     const char* what, int k) {
  const Array array =
      read_array(path, format, {.what = "--" + std::string(what), .may_round = false});
  const auto most = static_cast<std::uint64_t>(k);
  if (array.shape.size() != 2 || array.shape[1] == 0 || array.shape[1] > most) {
    throw error_in(path, "shape " + shape_text(array.shape),
                   "--" + std::string(what) + " is of shape (rows, K), K at most " +
                       std::to_string(k) + " for this instruction");
  }
  const std::uint64_t columns = array.shape[1];
  std::vector<std::uint64_t> out(array.shape[0] * most);
  for (std::uint64_t i = 0; i < array.shape[0]; ++i) {
    std::copy_n(array.elements.begin() + static_cast<std::ptrdiff_t>(i * columns), columns,
                out.begin() + static_cast<std::ptrdiff_t>(i * most));
  }
  return out;
}

void check_rows(const std::string& path, std::uint64_t rows, std::uint64_t expected,
                const std::string& other) {
  if (rows == expected) return;
  throw error_in(path, std::to_string(rows) + " rows",
                 printable(other) + " has " + std::to_string(expected));
}

}  // namespace

Dots read_dots(const DotFiles& files, const Instruction& instruction) {
  const DotTypes& types = instruction.types;
  const auto k = static_cast<std::uint64_t>(instruction.k);
  Dots out;
  // the file whose number of rows the others must have
  const std::string& counted = files.d.empty() ? files.a : files.d;
  if (!files.d.empty()) out.d = read_column(files.d, types.d, "d");
  out.a = read_rows(files.a, types.a, "a", instruction.k);
  out.b = read_rows(files.b, types.b, "b", instruction.k);
  if (files.d.empty()) out.d.assign(out.a.size() / k, 0);
  check_rows(files.a, out.a.size() / k, out.d.size(), counted);
  check_rows(files.b, out.b.size() / k, out.d.size(), counted);
  if (files.c) {
    out.c = read_column(*files.c, types.c, "c");
    check_rows(*files.c, out.c.size(), out.d.size(), counted);
  } else {
    out.c.assign(out.d.size(), 0);
  }
  if (out.d.empty()) throw error_in(counted, "no rows", "there is nothing to compare");
  return out;
}

Instruction instruction_of(const DotOptions& o) {
  return parse_instruction_of_rows(o.instruction, parse_architecture(o.architecture));
}

DotFiles files_of(const DotOptions& o) {
  DotFiles out = o.files;
  if (!o.c.empty()) out.c = o.c;
  return out;
}

}  // namespace binade
