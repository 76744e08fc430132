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

#include "lib/gemm/operands.h"
#include "lib/gemm/sum_program.h"
#include "lib/parallel/parallel.h"

namespace binade {

/// Told now and then how many of the m rows are done; calls never overlap.
using GemmProgress = std::function<void(std::size_t rows)>;

/// Who multiplies a model's operands, and how it takes them. Equal readings share DecodedOperands.
struct OperandReading {
  const ProductKernel* kernel = nullptr;
  Packing packing{};
  Format a{}, b{};

  friend bool operator==(const OperandReading&, const OperandReading&) = default;
};
OperandReading reading_of(const GemmModel& model, const Kernels& kernels = fastest_kernels());

/// Rows of a or columns of b, taken apart; one with a NaN or an infinity may be not usable.
struct DecodedLines {
  std::vector<std::byte> operands;
  std::vector<std::uint8_t> usable;
};
struct DecodedOperands {
  DecodedLines a, b;
};
/// Lines of k codes each.
DecodedOperands decoded(const OperandReading& reading, std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b, std::size_t k);

/// What stands beside the model and the numbers.
struct ProductShape {
  std::size_t k = 0;
  bool has_c = false, has_bias = false;
  int scale_log2 = 0;  ///< sums are `rescaled` by it
};

class PreparedProduct {
 public:
  PreparedProduct(const GemmModel& model, const ProductShape& shape,
                  const Kernels& kernels = fastest_kernels());

  const SumProgram& program() const { return program_; }
  const OperandReading& reading() const { return reading_; }

  /// Work space of one thread for single elements.
  struct Space {
    std::unique_ptr<TileSums[]> stack;
    std::vector<std::byte> row, column;
  };
  Space space() const;
  /// D's element x, of decoded row i and column j.
  std::uint64_t element(const DecodedOperands& operands, std::size_t i, std::size_t j,
                        const GemmElement<std::uint64_t>& x, Space& space) const;

  /// D, m × n, row after row, on all threads.
  std::vector<std::uint64_t> all(const GemmOperands& operands,
                                 const GemmProgress& progress = {}) const;

 private:
  /// Groups of lines as the kernel wants them, and which lines cannot be used.
  struct PackedGroups {
    std::vector<std::byte> bytes;
    std::size_t group_bytes = 0;
    std::vector<std::uint32_t> unusable;
  };
  /// C of a tile, rows a stride apart, and the bias; null where there is none.
  struct TileTerms {
    const std::uint64_t* c = nullptr;
    std::size_t c_stride = 0;
    const std::uint64_t* bias = nullptr;
  };

  PackedGroups packed(const std::vector<std::uint64_t>& codes, std::size_t lines, std::size_t k,
                      bool are_columns) const;
  void pack(const std::byte* operands, std::size_t number, std::size_t lines, bool is_column,
            std::byte* group) const;
  /// The elements of a tile, in stack[0]; those set in `left` are no results.
  void run(const ProductTile& tile, const TileTerms& terms, TileSums* stack, TileMask& left) const;
  void convert(TileSums& sums, const ProductTile& tile, const Format& from, const Format& to) const;
  /// By the definition.
  std::uint64_t defined(const GemmElement<std::uint64_t>& x) const;

  ProductShape shape_;
  const Kernels* kernels_;
  OperandReading reading_;
  SumProgram program_;
  std::vector<std::int32_t> places_;  // of the packed operands: their k, or -1
  std::size_t depth_ = 0;             // of the stack
  EpiloguePlan epilogue_;             // and the model
};

}  // namespace binade
