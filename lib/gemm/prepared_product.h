// SPDX-License-Identifier: Apache-2.0
//
// The one engine of emulated matrix products. The model's sum is compiled and its kernel chosen
// once; operands are decoded once, for all models of equal OperandReadings, and packed for the
// kernel; tiles of D run on a stack of accumulators. Every bit equals that of `gemm_element`
// (emulate/gemm.h), which computes the elements that a kernel leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/gemm/operand_groups.h"
#include "lib/gemm/operands.h"
#include "lib/gemm/progress.h"
#include "lib/gemm/sum_program.h"
#include "lib/parallel/parallel.h"

namespace binade {

/// Does what `ProductKernel::run` does, also for a kernel that has `sum` in its place; with such a
/// kernel, elements whose sum is a NaN are set in `left`, too.
void run_products(const OperandReading& reading, const GemmModel& g, const ProductTile& x,
                  TileSums& sums, TileMask& left);

/// The size of a product, and what its epilogue is given.
struct ProductShape {
  std::size_t k = 0;
  bool has_c = false, has_bias = false;
  int scale_log2 = 0;  ///< sums are multiplied by 2^scale_log2 before the epilogue
  ScaledSides scaled = {};
};

/// Number of multiply-adds that were done in a slower way than by the kernel's usual loop.
struct ProductDetours {
  VectorDetours vectors;
  /// Multiply-adds in elements whose value infinities or NaNs among the operands decide.
  std::uint64_t settled = 0;
  std::uint64_t defined = 0;  ///< multiply-adds in elements that `gemm_element` computed

  void add(const ProductDetours& other);
};

/// A model that is ready to multiply operands of a given shape.
class PreparedProduct {
 public:
  PreparedProduct(const GemmModel& model, const ProductShape& shape,
                  const Kernels& kernels = fastest_kernels());

  const SumProgram& program() const { return program_; }
  const OperandReading& reading() const { return reading_; }

  /// Work space of one thread.
  struct Space {
    std::unique_ptr<TileSums[]> sums;
    std::unique_ptr<TileValues[]> values;
    std::vector<std::byte> row, column;  ///< packed operands of a single element
    ProductDetours detours;              ///< sums over all elements that used this space
  };
  Space space() const;
  /// Returns the element of D that x describes; its operands are decoded row i and column j.
  std::uint64_t element(const DecodedOperands& operands, std::size_t i, std::size_t j,
                        const GemmElement<std::uint64_t>& x, Space& space) const;

  /// Computes D, m × n, row after row, on all threads.
  std::vector<std::uint64_t> all(const GemmOperands& operands, const GemmProgress& progress = {},
                                 ProductDetours* detours = nullptr) const;
  /// Computes D for a model whose bias and D are binary32.
  void all(const GemmValues& operands, float* d) const;

 private:
  struct Matrices;
  struct Tile;
  /// Gets numbers of elements as they are done.
  using Done = std::function<void(std::size_t)>;
  /// Computes D; `box`, of a model whose sums are the same everywhere, a box of it.
  template <class Out>
  void product(const Matrices& x, Out* d, const Done& done = {},
               ProductDetours* detours = nullptr) const;
  template <class Out>
  void box(const Matrices& x, Out* d, const Done& done, ProductDetours* detours) const;

  /// Computes a tile's elements of D, as encodings or as numbers; rows lie `stride` elements apart.
  /// Elements set in `left` are no results.
  template <class Out>
  void run(const Tile& tile, Space& space, TileMask& left, Out* d, std::size_t stride) const;
  template <class Out>
  void run_values(const Tile& tile, Space& space, TileMask& left, Out* d, std::size_t stride) const;
  template <class Out>
  void finish_values(const Tile& tile, std::size_t row, const float* sums, Out* d) const;
  void run_encodings(const Tile& tile, TileSums* stack, TileMask& left) const;
  void convert(TileSums& sums, const ProductTile& tile, const Format& from, const Format& to) const;
  void add_scaled(const SumStep& step, const ProductTile& tile, TileSums& left,
                  const TileSums& right, const Format& of_left, const Format& of_right) const;
  std::vector<std::uint32_t> grouped_scales(const std::uint32_t* scales, std::size_t lines,
                                            std::size_t height) const;
  /// Returns an element as `gemm_element` computes it.
  std::uint64_t defined(const GemmElement<std::uint64_t>& x) const;
  std::uint64_t defined(const Matrices& x, std::size_t i, std::size_t j) const;

  ProductShape shape_;
  const Kernels* kernels_;
  OperandReading reading_;
  SumProgram program_;
  std::vector<std::int32_t> places_;  // k of each packed operand, or -1
  // The runs of K whose scales multiply, in the kernel's order (TileScales), or -1; and how many
  // runs a line has.
  std::vector<std::int32_t> runs_;
  std::size_t run_count_ = 0;
  std::size_t depth_ = 0;  // most accumulators at once
  std::uint64_t nan_ = 0;  // encoding of a finished sum that is a NaN
  EpiloguePlan epilogue_;  // holds the model too
  Quantizer output_{};     // rounds to D's format
};

}  // namespace binade
