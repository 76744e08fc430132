// SPDX-License-Identifier: Apache-2.0
//
// The three products of a layer as matrices, and what their sizes cost on Tensor Cores: multiples of 16
// bytes that loads want, and of the instruction's shape, up to which a kernel pads with zeros.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/mma_shapes.h"

namespace binade {

/// D[m, n] += A[m, k]·B[k, n]
struct Extents {
  std::uint64_t m = 0, n = 0, k = 0;

  friend constexpr bool operator==(const Extents&, const Extents&) = default;
};

/// Y[tokens, out] = X[tokens, in]·W
struct LinearSizes {
  std::uint64_t tokens = 0, in = 0, out = 0;
};

/// Y[batch, filters, P, Q] from X[batch, channels, height, width] and kernels of rows×columns.
struct ConvSizes {
  std::uint64_t batch = 0, channels = 0, height = 0, width = 0;
  std::uint64_t filters = 0, rows = 0, columns = 0;
  std::uint64_t stride = 1, padding = 0;

  std::uint64_t out_height() const { return (height + 2 * padding - rows) / stride + 1; }
  std::uint64_t out_width() const { return (width + 2 * padding - columns) / stride + 1; }
};

inline constexpr std::array<std::string_view, 3> product_names{"fprop", "dgrad", "wgrad"};

/// fprop Y = X·W, dgrad dX = dY·Wᵀ, wgrad dW = Xᵀ·dY.
std::array<Extents, 3> products_of(const LinearSizes& layer);

/// The implicit GEMMs (NVIDIA's guide to convolutional layers): fprop [NPQ, filters, CRS], dgrad
/// [NHW, C, filters·RS], wgrad [CRS, filters, NPQ].
std::array<Extents, 3> products_of(const ConvSizes& layer);

/// Elements of a format in the 16 bytes that an aligned load takes: 8 of binary16, 16 of e4m3.
constexpr int aligned_elements(const Format& format) { return 128 / format.storage_bits(); }

/// What an instruction covers at once; n is the finest step that its family has.
struct InstructionShape {
  Family family = Family::mma;
  int m = 0, n = 0, k = 0;
};

/// The widest dense instruction of an architecture for operands of a format: tcgen05, wgmma or mma.
/// Nothing where it has none.
std::optional<InstructionShape> instruction_for(int sm, const Format& format);

/// A size and what is made of it.
struct SizeAdvice {
  std::uint64_t size = 0;
  std::uint64_t aligned = 0;  ///< next multiple of aligned_elements
  std::uint64_t padded = 0;   ///< next multiple of the instruction's extent
};

struct ShapeAdvice {
  SizeAdvice m, n, k;
  double waste = 0;  ///< share of the multiplications that work on padding
  bool is_aligned() const {
    return m.size == m.aligned && n.size == n.aligned && k.size == k.aligned;
  }
};

ShapeAdvice advise(const Extents& product, const Format& format,
                   const InstructionShape& instruction);

}  // namespace binade
