// SPDX-License-Identifier: Apache-2.0
//
// The sizes of the three matrix products of a layer, and what they cost on Tensor Cores: aligned
// loads need sizes that are multiples of 16 bytes, and a kernel pads each size with zeros to a
// multiple of the instruction's shape.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/instruction_shapes.h"

namespace binade {

/// The sizes of a matrix product D[m, n] += A[m, k]·B[k, n].
struct Extents {
  std::uint64_t m = 0, n = 0, k = 0;

  friend constexpr bool operator==(const Extents&, const Extents&) = default;
};

/// The sizes of a linear layer Y[tokens, out] = X[tokens, in]·W.
struct LinearSizes {
  std::uint64_t tokens = 0, in = 0, out = 0;
};

/// The sizes of a convolution that computes Y[batch, filters, P, Q] from X[batch, channels, height,
/// width] with filters of rows × columns; P and Q are out_height() and out_width(). The stride must
/// not be 0, and a filter must not be larger than the padded image.
struct ConvSizes {
  std::uint64_t batch = 0, channels = 0, height = 0, width = 0;
  std::uint64_t filters = 0, rows = 0, columns = 0;
  std::uint64_t stride = 1, padding = 0;

  std::uint64_t out_height() const { return (height + 2 * padding - rows) / stride + 1; }
  std::uint64_t out_width() const { return (width + 2 * padding - columns) / stride + 1; }
};

inline constexpr std::array<std::string_view, 3> product_names{"fprop", "dgrad", "wgrad"};

/// Returns the sizes of the layer's products: fprop Y = X·W, dgrad dX = dY·Wᵀ, wgrad dW = Xᵀ·dY.
std::array<Extents, 3> products_of(const LinearSizes& layer);

/// Returns the sizes [m, n, k] of the layer's implicit GEMMs (NVIDIA's guide to convolutional
/// layers): fprop [NPQ, filters, CRS], dgrad [NHW, C, filters·RS], wgrad [CRS, filters, NPQ], where
/// N is the batch, C the channels, H × W the image, P × Q the result and R × S the filter.
std::array<Extents, 3> products_of(const ConvSizes& layer);

/// Returns how many elements of a format the 16 bytes of an aligned load hold: 8 of binary16, 16 of
/// e4m3.
constexpr int aligned_elements(const Format& format) { return 128 / format.storage_bits(); }

/// The product that one instruction computes; n is the smallest that its family offers.
struct InstructionShape {
  Family family = Family::mma;
  int m = 0, n = 0, k = 0;
};

/// Returns the widest dense instruction of architecture sm_`sm` for operands of a format, from the
/// newest of the families tcgen05, wgmma and mma that has one; nothing if there is none.
std::optional<InstructionShape> instruction_for(int sm, const Format& format);

/// One size of a product, rounded up.
struct SizeAdvice {
  std::uint64_t size = 0;
  std::uint64_t aligned = 0;  ///< `size` rounded up to a multiple of aligned_elements
  std::uint64_t padded = 0;   ///< `size` rounded up to a multiple of the instruction's size
};

/// How well the sizes of a product fit an instruction.
struct ShapeAdvice {
  SizeAdvice m, n, k;
  double waste = 0;  ///< share of the multiplications that have padding as an operand
  bool is_aligned() const {
    return m.size == m.aligned && n.size == n.aligned && k.size == k.aligned;
  }
};

/// Returns how well the sizes of a product, none of them 0, fit the instruction and aligned loads
/// of the format's elements.
ShapeAdvice advise(const Extents& product, const Format& format,
                   const InstructionShape& instruction);

}  // namespace binade
