// SPDX-License-Identifier: Apache-2.0
//
// Reads matrices from files as encodings of the formats that a product takes, and writes D. A
// tensor is named FILE, or FILE:NAME if the file holds several.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/gemm/operands.h"
#include "lib/gemm/read_array.h"

namespace binade {

/// The files of the matrices of a product, with the shapes that they have. A transposed a is (K,
/// M), a transposed b (N, K).
struct GemmFiles {
  std::string a, b;                              ///< (M, K) and (K, N)
  std::optional<std::string> c = {}, bias = {};  ///< (M, N) and (N,)
  /// Scales and zero points (scales.h), empty: none: of A's rows and of B's columns.
  std::string a_scale = {}, b_scale = {}, a_zero_point = {}, b_zero_point = {};
  /// Scales of a whole matrix that has scales of blocks, too: numbers, or files of one.
  std::string a_tensor_scale = {}, b_tensor_scale = {};
  /// Of scales of blocks (lib/block/scale_layout.h): of all, or those of A and of B, "te_1d,te_2d".
  std::string scale_layout = "row_major";
  /// Elements of K that share such a scale, of both or of A and of B; empty: as shapes say.
  std::string scale_run = {};
  bool transposed_a = false, transposed_b = false;
  /// Where rows of A are in groups, each with a B of its own, the file that says which
  /// (row_groups.h) and how; empty: there is one B. B is then a stack, (G, K, N), and so are the
  /// bias, (G, N) if not one for all, and the scales of B; of the layout masked A, C and D are
  /// stacks, too.
  std::string groups = {}, group_layout = "ends";
  bool may_round = true;  ///< whether the command has --round, for error messages
  /// ReadArray::round for a and b by a name of the rounding, empty: none. C and the bias are never
  /// rounded.
  std::string round = {};
};

/// What GemmFiles says beside A, B, C and the bias, under the names of Python's arguments; options
/// of the command line have "-" in the place of "_".
enum class FileWord : std::uint8_t { file, file_or_number, word };
struct FileOption {
  std::string_view name;
  std::string GemmFiles::*value;
  FileWord kind = FileWord::file;
  /// What a kernel that made D did with it, for `binade identify`.
  std::string_view of_kernel;
  /// Values of a word, if there is a table.
  std::vector<std::string> (*words)() = nullptr;
};
std::vector<std::string> scale_layout_words();
std::vector<std::string> group_layout_words();
inline constexpr std::array<FileOption, 10> file_options{{
    {"a_scale", &GemmFiles::a_scale, FileWord::file,
     "file of the scales by which the kernel multiplied sums, in binary32, one for each row of A "
     "or one for all; or of the scales of blocks of K, of shape (M/rows, K/run)"},
    {"b_scale", &GemmFiles::b_scale, FileWord::file,
     "the same of the columns of B; scales of blocks have K along the axis that B has it"},
    {"a_tensor_scale", &GemmFiles::a_tensor_scale, FileWord::file_or_number,
     "scale of all of A beside those of blocks, such as NVFP4's: a number, or a file of one"},
    {"b_tensor_scale", &GemmFiles::b_tensor_scale, FileWord::file_or_number, "the same of B"},
    {"scale_run", &GemmFiles::scale_run, FileWord::word,
     "how many elements of K share a scale of a block, or 128,32 of A's and of B's (default: as "
     "the "
     "shapes say)"},
    {"scale_layout", &GemmFiles::scale_layout, FileWord::word,
     "in which order the scales of blocks lie in their files; of A's and of B's, if they are "
     "unlike, as te_1d,te_2d",
     &scale_layout_words},
    {"groups", &GemmFiles::groups, FileWord::file,
     "file of integers that says which rows of A are in which group, as tokens of an expert, each "
     "group with a B of its own, which is of shape (G, K, N)"},
    {"group_layout", &GemmFiles::group_layout, FileWord::word,
     "what the numbers of --groups are: the row behind each group's last (ends), the rows of each "
     "(sizes), the group of each row or -1 (rows), or how many rows of each matrix of A, then (G, "
     "rows, K), are multiplied (masked); psum: ends, each group beginning at a multiple of 128",
     &group_layout_words},
    {"a_zero_point", &GemmFiles::a_zero_point, FileWord::file,
     "file of integers that the kernel subtracted from the elements of A, one for each row or one "
     "for all; of products of integers"},
    {"b_zero_point", &GemmFiles::b_zero_point, FileWord::file, "such integers of the columns of B"},
}};
/// Returns "--a-scale" of "a_scale".
std::string option_of(const FileOption& row);

/// Returns the rounding that GemmFiles::round names. Throws Error if there is no such name, or for
/// stochastic rounding.
std::optional<Rounding> operand_rounding(std::string_view name);
/// Returns the option that rounds operands so: "--round", or "--round=ties_to_away".
std::string round_option(Rounding rounding);

/// Returns the number that a scale of a whole matrix is, unless it is the name of a file.
std::optional<float> scale_number(const std::string& text);

/// Reads the scales of lines, of runs of K and of whole matrices into `out`, a GemmOperands or
/// KernelRun that has its m, n, k and groups. Of an instruction that multiplies by scales, those of
/// runs are numbers of its format and have its length; `run` is 0 otherwise. Scales of more
/// elements are taken several times.
struct ScalesOfLines {
  std::size_t m, n, k;
  std::vector<std::uint64_t>&a_scale, &b_scale;
  RunScales& runs;
  const RowGroups& groups;
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

/// Reads a D of shape (m, n), or of a stack (groups, rows, n), in the epilogue's output format.
/// Throws Error as read_array does, and if its shape is another.
std::vector<std::uint64_t> read_result(const std::string& where, const GemmModel& model,
                                       const GemmOperands& operands);

/// Returns the shape of C and D.
std::vector<std::uint64_t> result_shape(const GemmOperands& operands);
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
