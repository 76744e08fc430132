// SPDX-License-Identifier: Apache-2.0
//
// Reads a tensor from a file as encodings of one format, by its bits or by its numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulate/attributes.h"
#include "emulate/format.h"

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

/// Returns the transpose of a matrix of rows × columns.
std::vector<std::uint64_t> transposed(const std::vector<std::uint64_t>& in, std::size_t rows,
                                      std::size_t columns);

}  // namespace binade
