// SPDX-License-Identifier: Apache-2.0
//
// The one engine of emulated matrix products: a model's sum compiled and its kernel chosen once; operands taken apart
// once, for all models that take them alike, and packed for the kernel; tiles over a stack of accumulators. Equal to
// `gemm_element` in every bit: what a kernel leaves is done by that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/gemm/operand_groups.h"
#include "lib/gemm/operands.h"
#include "lib/gemm/sum_program.h"
#include "lib/parallel/parallel.h"

namespace binade {

/// Told now and then how many of the m rows are done; calls never overlap.
using GemmProgress = std::function<void(std::size_t rows)>;

/// `ProductKernel::run`, also of a kernel that has `sum`: what is a NaN is left.
void run_products(const OperandReading& reading, const GemmModel& g, const ProductTile& x,
                  TileSums& sums, TileMask& left);

/// What stands beside the model and the numbers.
struct ProductShape {
  std::size_t k = 0;
  bool has_c = false, has_bias = false;
  int scale_log2 = 0;  ///< sums are `rescaled` by it
};

/// How many multiply-adds went which way; the rest the kernel's straight one.
struct ProductDetours {
  VectorDetours vectors;
  std::uint64_t settled = 0;  ///< of elements that infinities or NaNs decide, whatever their sums
  std::uint64_t defined = 0;  ///< of elements done by `gemm_element`

  void add(const ProductDetours& other);
};

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
    std::vector<std::byte> row, column;  ///< groups of a single element
    ProductDetours detours;              ///< so far
  };
  Space space() const;
  /// D's element x, of decoded row i and column j.
  std::uint64_t element(const DecodedOperands& operands, std::size_t i, std::size_t j,
                        const GemmElement<std::uint64_t>& x, Space& space) const;

  /// D, m × n, row after row, on all threads.
  std::vector<std::uint64_t> all(const GemmOperands& operands, const GemmProgress& progress = {},
                                 ProductDetours* detours = nullptr) const;
  /// The same of a model whose bias and D are binary32.
  void all(const GemmValues& operands, float* d) const;

 private:
  struct Matrices;
  struct Tile;
  template <class Out>
  void product(const Matrices& x, Out* d, const GemmProgress& progress = {},
               ProductDetours* detours = nullptr) const;

  /// A tile's elements of D as encodings, or as numbers, rows `stride` apart; those set in `left` are no results.
  template <class Out>
  void run(const Tile& tile, Space& space, TileMask& left, Out* d, std::size_t stride) const;
  template <class Out>
  void run_values(const Tile& tile, Space& space, TileMask& left, Out* d, std::size_t stride) const;
  template <class Out>
  void finish_values(const Tile& tile, std::size_t row, const float* sums, Out* d) const;
  void run_encodings(const Tile& tile, TileSums* stack, TileMask& left) const;
  void convert(TileSums& sums, const ProductTile& tile, const Format& from, const Format& to) const;
  /// By the definition.
  std::uint64_t defined(const GemmElement<std::uint64_t>& x) const;
  std::uint64_t defined(const Matrices& x, std::size_t i, std::size_t j) const;

  ProductShape shape_;
  const Kernels* kernels_;
  OperandReading reading_;
  SumProgram program_;
  std::vector<std::int32_t> places_;  // of the packed operands: their k, or -1
  std::size_t depth_ = 0;             // of the stack
  std::uint64_t nan_ = 0;             // a finished sum's
  EpiloguePlan epilogue_;             // and the model
  Quantizer output_{};                // D's last rounding
};

}  // namespace binade
