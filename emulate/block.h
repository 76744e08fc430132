// SPDX-License-Identifier: Apache-2.0
//
// What a block format is: elements of a narrow format, of which a block shares a scale, and perhaps
// a second scale over the whole tensor. A block format is a value and a row of one table. The value
// of an element is a product of two or three numbers, exact by definition:
//
//     element · scale of its block [· scale of the tensor]
//
//     mxfp4, a block of 32          nvfp4, a block of 16
//     codes   7    F   2 …          codes   7    F   2 …
//     values  6   -6   1 …          values  6   -6   1 …
//     scale   7C = 2^-3             scale   3C = 1.5, of the tensor 0.0078125
//     0.75  -0.75  0.125 …          0.0703125  -0.0703125  0.01171875 …
//
// How a scale follows from the values of its block is scale_rule.h's.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "emulate/format.h"

namespace binade {

/// Which elements of a matrix, whose rows run along K, share a scale: so many rows times so many
/// neighbours along K. 0: all there are.
struct BlockShape {
  int rows = 1;
  int along = 0;

  friend constexpr bool operator==(const BlockShape&, const BlockShape&) = default;
};

struct BlockFormat {
  Format element{};
  BlockShape shape{};
  Format scale = e8m0;  ///< a scale is a positive number of this format
  /// A second scale, a number of binary32, lies over the tensor.
  bool tensor_scale = false;
  /// An element is stored as a two's complement integer, of which the element format's numbers are
  /// the multiples of its quantum. The code 10…0 is one more negative number; it is read, and no
  /// rule writes it (OCP MX 1.0 5.3.4 leaves that choice).
  bool twos_complement = false;

  friend constexpr bool operator==(const BlockFormat&, const BlockFormat&) = default;

  /// Returns whether a scale belongs to the whole tensor.
  constexpr bool is_of_tensor() const { return shape == BlockShape{0, 0}; }
};

/// The multiples of 2^-6 below 2 in magnitude (OCP MX 1.0 INT8): subnormal numbers of one bit of
/// exponent and one binade of the same quantum.
BINADE_CONSTANT Format mx_int8{1, 7, 1, Specials::none};

/// A row of the table of block formats.
struct NamedBlockFormat {
  std::string_view name;
  BlockFormat format;
  std::string_view source;  ///< what defines it; who uses it
};

inline constexpr auto block_formats = std::to_array<NamedBlockFormat>({
    {"mxfp8_e4m3", {e4m3, {1, 32}}, "OCP MX 1.0 MXFP8 (E4M3)"},
    {"mxfp8_e5m2", {e5m2, {1, 32}}, "OCP MX 1.0 MXFP8 (E5M2)"},
    {"mxfp6_e3m2", {e3m2, {1, 32}}, "OCP MX 1.0 MXFP6 (E3M2)"},
    {"mxfp6_e2m3", {e2m3, {1, 32}}, "OCP MX 1.0 MXFP6 (E2M3)"},
    {"mxfp4", {e2m1, {1, 32}}, "OCP MX 1.0 MXFP4"},
    {"mxint8",
     {.element = mx_int8, .shape = {1, 32}, .twos_complement = true},
     "OCP MX 1.0 MXINT8: integers times 2^-6"},
    {"nvfp4", {e2m1, {1, 16}, ue4m3, true}, "NVFP4"},
    {"nvfp4_2d", {e2m1, {16, 16}, ue4m3, true}, "NVFP4 of weights in training"},
    {"fp8_1x128", {e4m3, {1, 128}, binary32}, "DeepSeek-V3: activations and gradients"},
    {"fp8_128x128", {e4m3, {128, 128}, binary32}, "DeepSeek-V3: weights"},
    {"fp8_tensor", {e4m3, {0, 0}, binary32}, "FP8 with one scale for a tensor"},
    {"fp8_row", {e4m3, {1, 0}, binary32}, "FP8 with a scale for each row"},
    {"fp8_column", {e4m3, {0, 1}, binary32}, "FP8 with a scale for each column"},
    {"fp4_tensor", {e2m1, {0, 0}, binary32}, "FP4 with one scale for a tensor"},
    {"fp4_row", {e2m1, {1, 0}, binary32}, "FP4 with a scale for each row"},
    {"fp4_column", {e2m1, {0, 1}, binary32}, "FP4 with a scale for each column"},
});

/// Returns the block format of a name in the table, or nothing.
constexpr std::optional<BlockFormat> find_block_format(std::string_view name) {
  for (const NamedBlockFormat& row : block_formats) {
    if (row.name == name) return row.format;
  }
  return std::nullopt;
}

}  // namespace binade
