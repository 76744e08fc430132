// SPDX-License-Identifier: Apache-2.0
//
// Reads whole arrays as rows of dot products.
#include "lib/gemm/dot_files.h"

#include <algorithm>

#include "emulate/operation.h"
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

/// Reads the scales of rows, of shape (rows, scales of a row).
std::vector<std::uint64_t> read_scales_of_rows(const std::string& path, const Instruction& x,
                                               const char* what) {
  const auto number = static_cast<std::uint64_t>(scales_of_row(x));
  Array array = read_array(path, x.model.scaling.format,
                           {.what = "--" + std::string(what), .may_round = false});
  const bool column = array.shape.size() == 1 && number == 1;
  if (!column && (array.shape.size() != 2 || array.shape[1] != number)) {
    throw error_in(path, "shape " + shape_text(array.shape),
                   "--" + std::string(what) + " is of shape (rows, " + std::to_string(number) +
                       ") for this instruction");
  }
  return std::move(array.elements);
}

void check_rows(const std::string& path, std::uint64_t rows, std::uint64_t expected,
                const std::string& other) {
  if (rows == expected) return;
  throw error_in(path, std::to_string(rows) + " rows",
                 printable(other) + " has " + std::to_string(expected));
}

}  // namespace

void check_has_scales(const Instruction& instruction, const std::string& a_scale,
                      const std::string& b_scale) {
  if (is_scaled(instruction.model) || (a_scale.empty() && b_scale.empty())) return;
  throw Error((a_scale.empty() ? "--b-scale: " : "--a-scale: ") + instruction_name(instruction) +
              " has no scales of blocks; those with .block_scale in their name have");
}

std::uint64_t scale_of_one(const Instruction& instruction) {
  return convert(0x3F800000, binary32, instruction.model.scaling.format).bits;
}

Dots read_dots(const DotFiles& files, const Instruction& instruction) {
  const DotTypes& types = instruction.types;
  check_has_scales(instruction, files.a_scale, files.b_scale);
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
  const auto scales = static_cast<std::uint64_t>(scales_of_row(instruction));
  const auto read_side = [&](const std::string& path, const char* what) {
    if (path.empty()) {
      const std::uint64_t one = scales == 0 ? 0 : scale_of_one(instruction);
      return std::vector<std::uint64_t>(scales * out.d.size(), one);
    }
    std::vector<std::uint64_t> read = read_scales_of_rows(path, instruction, what);
    check_rows(path, read.size() / scales, out.d.size(), counted);
    return read;
  };
  out.a_scales = read_side(files.a_scale, "a-scale");
  out.b_scales = read_side(files.b_scale, "b-scale");
  if (out.d.empty()) throw error_in(counted, "no rows", "there is nothing to compare");
  return out;
}

Instruction instruction_of(const DotOptions& o) {
  return parse_instruction(o.instruction, parse_architecture(o.architecture));
}

DotFiles files_of(const DotOptions& o) {
  DotFiles out = o.files;
  if (!o.c.empty()) out.c = o.c;
  return out;
}

}  // namespace binade
