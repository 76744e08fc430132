// SPDX-License-Identifier: Apache-2.0
//
// What stands beside the matrices of a quantized product: scales and zero points, of a whole matrix
// or of each row of A and each column of B; and scales of blocks of K.
//
//     (a - za) · (b - zb), summed over k     = sum - za·Σb - zb·Σa + K·za·zb
//     K = 2, a = 5 7, za = 3, b = 2 1        = 17 - 3·3 = 8 = 2·2 + 4·1
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/gemm/operands.h"

namespace binade {

/// The rows of A or the columns of B, which scales go with.
struct ScaledLines {
  std::size_t count = 0;
  std::size_t groups = 1;
  std::vector<std::uint32_t> group = {};  ///< of each line; `groups`: it is in none
  bool is_stack = false;                  ///< the file of the matrix holds one for each group
};
/// Returns the rows of A, or the n columns of each B, with the group of each.
ScaledLines rows_of(const RowGroups& groups, std::size_t m);
ScaledLines columns_of(const RowGroups& groups, std::size_t n);

/// Reads the scales of a matrix's lines: as many numbers in a vector or in a matrix of one row or
/// column, of a stack (groups, lines); one for each group; or a single one, which is of all.
/// Returns one encoding of binary32 for each line. Throws Error as read_array does (files.h), and
/// if there is another number of them; `what` names the option.
std::vector<std::uint64_t> read_scales(const std::string& where, const std::string& what,
                                       const ScaledLines& lines);

/// Where scales of blocks of a matrix lie in their file.
struct BlockScaleFile {
  std::string where, what;           ///< the tensor, and the name of the option
  ScaledLines lines;                 ///< of the matrix
  std::size_t k = 0;                 ///< elements of a line
  bool transposed = false;           ///< the file has K first, as the scales of a B of (K, N)
  std::size_t length = 0;            ///< elements of K that share a scale; 0: by the shape
  std::size_t unit = 0;              ///< an instruction's, which divides length; 0: of none
  std::string layout = "row_major";  ///< in which order they lie (lib/block/scale_layout.h)
  Format format = binary32;          ///< of which they are numbers, or bits
};

/// Scales of each line's runs of K, one line after the other.
struct LineScales {
  std::size_t length = 0;            ///< of a run
  std::vector<std::uint32_t> codes;  ///< in binary32
};

/// Returns whether the tensor's shape, beside a matrix of so many lines, is that of scales of
/// blocks: two dimensions, of a stack one more, and, unless the other matrix has scales of blocks,
/// not one scale for each line or a single one.
bool are_block_scales(const std::string& where, const ScaledLines& lines, bool other_has);

/// Reads scales of blocks of lines by runs of K: a matrix of one scale for each. Where the shape
/// leaves the size of blocks open, the unit is taken, else powers of two. A tensor of bytes holds
/// e8m0, and in the layout deepgemm four of them are an int32; of runs of 16 elements bytes are
/// ue4m3. Where rows are in groups and a layout fills up, that may be the rows of all or those of
/// each group. Throws Error as read_array does, and if the shape is of no blocks of the matrix.
LineScales read_block_scales(const BlockScaleFile& file);

/// Reads zero points in the same shapes: integers of 8 to 64 bits that an s32 holds.
std::vector<std::int32_t> read_zero_points(const std::string& where, const std::string& what,
                                           std::size_t lines);

/// Zero points of rows of A and of columns of B; empty: they are 0.
struct ZeroPoints {
  std::vector<std::int32_t> a, b;
};

/// Adds to a product's C, which is of s32 or empty, what makes sum + C the sum of products of
/// operands less their zero points. Everything is modulo 2^32, as kernels do it: whether they
/// subtract from operands or from the sum (vLLM's azp_adj, FBGEMM's row and column offsets) is the
/// same. `dots`: element i of C is of row i and of column i.
void add_zero_points(std::vector<std::uint64_t>& c, const GemmOperands& operands,
                     const DotTypes& types, const ZeroPoints& zeros, bool dots = false);

/// Adds a bias of s32, n elements or none, to each of m rows of C, modulo 2^32.
void add_integer_bias(std::vector<std::uint64_t>& c, std::size_t m,
                      const std::vector<std::uint64_t>& bias);

}  // namespace binade
