// SPDX-License-Identifier: Apache-2.0
//
// Matrices in files, read as encodings of the formats that a product takes. A tensor is FILE, or
// FILE:NAME where the file holds several.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/gemm/operands.h"

namespace binade {

/// Elements as encodings of one format, row after row.
struct Array {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> elements;
  Format format{};
};

/// How a tensor's elements become encodings. Unsigned integers of the format's width are its bits
/// (as NumPy saves formats it has no name for); a floating dtype counts by its values, each of which
/// must be a number of the format, or is rounded to nearest where `round` says so. Without it binary32
/// is tf32 whose low 13 bits the hardware ignores.
struct ReadArray {
  std::string what;  ///< "--a", for errors
  bool round = false;
  bool may_round = true;  ///< whether the command has --round, for errors
};

/// Error with the file, its dtype or the first element that does not fit, and what to do.
Array read_array(const std::string& where, const Format& format, const ReadArray& how);

/// The format that a tensor's own dtype names; nothing where it holds bare bits.
std::optional<Format> named_format(const std::string& where);

/// Where the matrices of a product are.
struct GemmFiles {
  std::string a, b;                              ///< (M, K) and (K, N)
  std::optional<std::string> c = {}, bias = {};  ///< (M, N) and (N,)
  bool transposed_a = false, transposed_b = false;
  bool round = false;
};

/// Reads them; the formats of C and the bias become what the files hold, else the accumulator's.
/// Error where shapes do not fit.
GemmOperands read_operands(const GemmFiles& files, GemmModel& model);

/// Of shape (m, n), in the epilogue's output format.
std::vector<std::uint64_t> read_result(const std::string& where, const GemmModel& model,
                                       const GemmOperands& operands);

/// What D is kept in: the dtype of its format, else unsigned integers of its bits; I32 of an integer product.
Dtype result_dtype(const GemmModel& model);
/// Encodings as elements of `width` bytes each, on all threads.
void pack_elements(std::span<const std::uint64_t> elements, std::size_t width,
                   std::span<std::byte> out);

/// As .npy, or as tensor "d" of a .safetensors file whose metadata say what made it.
void write_result(const std::string& path, const GemmModel& model, const GemmOperands& operands,
                  const std::vector<std::uint64_t>& d,
                  const std::vector<std::pair<std::string, std::string>>& metadata);
/// Error unless the name ends in .npy or .safetensors.
void check_result_name(const std::string& path);

}  // namespace binade
