// SPDX-License-Identifier: Apache-2.0
//
// Reads matrices from files as encodings of the formats that a product takes, and writes D. A
// tensor is named FILE, or FILE:NAME if the file holds several.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/gemm/operands.h"

namespace binade {

/// A tensor's elements as encodings of one format, row after row.
struct Array {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> elements;
  Format format{};
};

/// How the elements of a tensor become encodings. Integers of the format's width are taken as its
/// bits (NumPy saves formats that it has no name for in this way). Elements of a floating-point
/// dtype are taken by value: each must be a number of the format, unless `round` says how they are
/// rounded to it. Without `round`, binary32 is accepted as tf32, and its low 13 bits are ignored as
/// the hardware does.
struct ReadArray {
  std::string what;  ///< what error messages call the tensor: "A", "--a"
  std::optional<Rounding> round = {};
  bool may_round = true;  ///< whether the command has the option --round, for error messages
};

/// Reads a tensor. Throws Error if its dtype is of neither kind, if an element is no number of the
/// format, or if it has more than two dimensions in Fortran order; the message names the file, what
/// is wrong (for an element the first such one) and what to do.
Array read_array(const std::string& where, const Format& format, const ReadArray& how);

/// Returns the format that a tensor's dtype names, or nothing if it names none, as with integers.
std::optional<Format> named_format(const std::string& where);
/// Returns s8, u8 or s32 for a tensor of dtype I8, U8 or I32, whose elements may be these integers
/// or bare bits; else nothing.
std::optional<Format> integer_format(const std::string& where);

/// The files of the matrices of a product, with the shapes that they have. A transposed a is (K,
/// M), a transposed b (N, K).
struct GemmFiles {
  std::string a, b;                              ///< (M, K) and (K, N)
  std::optional<std::string> c = {}, bias = {};  ///< (M, N) and (N,)
  /// Scales and zero points (scales.h), empty: none: of A's rows and of B's columns.
  std::string a_scale = {}, b_scale = {}, a_zero_point = {}, b_zero_point = {};
  /// Scales of a whole matrix that has scales of blocks, too: numbers, or files of one.
  std::string a_tensor_scale = {}, b_tensor_scale = {};
  std::string scale_layout = "row_major";  ///< of scales of blocks (lib/block/scale_layout.h)
  std::string scale_run = {};  ///< elements of K that share such a scale; empty: as shapes say
  bool transposed_a = false, transposed_b = false;
  /// ReadArray::round for a and b by a name of the rounding, empty: none. C and the bias are never
  /// rounded.
  std::string round = {};
};

/// Returns the rounding that GemmFiles::round names. Throws Error if there is no such name, or for
/// stochastic rounding.
std::optional<Rounding> operand_rounding(std::string_view name);
/// Returns the option that rounds operands so: "--round", or "--round=ties_to_away".
std::string round_option(Rounding rounding);

/// Returns the number that a scale of a whole matrix is, unless it is the name of a file.
std::optional<float> scale_number(const std::string& text);

/// Reads the scales of lines, of runs of K and of whole matrices into `out`, a GemmOperands or
/// KernelRun that has its m, n and k. Of an instruction that multiplies by scales, those of runs
/// are numbers of its format and have its length; `run` is 0 otherwise.
struct ScalesOfLines {
  std::size_t m, n, k;
  std::vector<std::uint64_t>&a_scale, &b_scale;
  RunScales& runs;
};
void read_product_scales(const GemmFiles& files, std::size_t run, const Format& format,
                         const ScalesOfLines& out);

/// Reads the operands. By scales of blocks that the instruction does not multiply by, the model
/// multiplies where it promotes: its sum.scaling and, unless it is set, promote_every follow from
/// them. model.c and model.bias become the formats of the files' dtypes, or the
/// accumulator's where a file holds bits. Of a product of integers, zero points and a bias of s32
/// are added to C, with which its sums begin. Throws Error as read_array does, and if shapes do not
/// fit together, a matrix is empty, or K is above 2^30.
GemmOperands read_operands(const GemmFiles& files, GemmModel& model);

/// Reads a D of shape (m, n), in the epilogue's output format. Throws Error as read_array does, and
/// if its shape is another.
std::vector<std::uint64_t> read_result(const std::string& where, const GemmModel& model,
                                       const GemmOperands& operands);

/// Returns the dtype in which D is stored: that of its format, or unsigned integers of the same
/// width if there is none; I32 for an integer product.
Dtype result_dtype(const GemmModel& model);
/// Writes D as .npy, or as tensor "d" of a .safetensors file with `metadata`, which says how it was
/// made. Throws Error as check_result_name does, and if the file cannot be written.
void write_result(const std::string& path, const GemmModel& model, const GemmOperands& operands,
                  const std::vector<std::uint64_t>& d,
                  const std::vector<std::pair<std::string, std::string>>& metadata);
/// Throws Error unless the name ends in .npy or .safetensors.
void check_result_name(const std::string& path);

}  // namespace binade
