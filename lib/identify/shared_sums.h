// SPDX-License-Identifier: Apache-2.0
//
// The sums of many models as one graph: what their programs (lib/gemm/sum_program.h) have in common is one node, and is
// computed once for some elements at a time.
//
//     --split 2       (k 0 … 7) + (k 8 … 15)                   nodes: zero, two runs of products, an addition;
//     --split 2:8     (k 0 … 7) + (k 8 … 15)                   the second model adds none,
//     --split 4:4     ((k 0 … 3) + (k 4 … 7)) + …              the third its own runs and additions
//
// Two instructions without a kernel become steps that have one, as their definitions are written: m8n8k4's chain from +0,
// to which c is added, and pairs of products (emulate/dot_model.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "lib/gemm/prepared_product.h"
#include "lib/identify/kernel_run.h"

namespace binade {

/// Who multiplies operands, and which.
struct Multiplier {
  GemmModel model{};
  OperandReading reading{};
  const DecodedOperands* operands = nullptr;
  std::vector<int> places = {};  ///< of an instruction's packed operands
};
Multiplier multiplier_of(const GemmModel& model, const OperandReading& reading,
                         const DecodedOperands& operands);

/// A value of a sum on its way.
struct SumNode {
  enum class Kind : std::uint8_t { zero, minus_zero, c, products, add, convert };
  Kind kind{};
  int left = -1, right = -1;  ///< nodes that it is made of
  Format format{};
  /// Of products: whose, and where they begin among the operands.
  std::size_t operands = 0, first = 0;
  int instructions = 0;
};

class SharedSums {
 public:
  SharedSums(const KernelRun& run, const Kernels& kernels) : run_(run), kernels_(kernels) {}

  /// Takes a model's sum in; the node that is it. `steps` multiplies where `multiplier` has no kernel.
  int add(const GemmModel& model, const Multiplier& multiplier, const Multiplier* steps);
  /// D, where the epilogue is no more than c and a conversion.
  std::optional<int> finished(int sum, const GemmModel& model);
  const Format& format(int node) const { return nodes_[static_cast<std::size_t>(node)].format; }

  /// So many elements, at most tile_columns, may be computed at a time.
  std::size_t lanes() const;
  /// Computes every node for some elements, as row 0 of a tile.
  void compute(std::span<const std::size_t> elements);
  /// The same for a tile of a product: rows of D from row `i` on, columns from column `j` on.
  void compute_tile(std::size_t i, std::size_t j);

  /// Of what was computed last.
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  const std::uint64_t* values(int node, std::size_t row) const {
    return values_.data() + static_cast<std::size_t>(node) * stride() + row * group_columns;
  }
  /// Elements, bit by bit, which are the definition's.
  std::uint32_t left(int node, std::size_t row) const {
    return left_[static_cast<std::size_t>(node)][row];
  }

 private:
  static constexpr auto group_rows = static_cast<std::size_t>(tile_rows);
  static constexpr auto group_columns = static_cast<std::size_t>(tile_columns);

  /// All operands of one multiplier's products: packed for each element, or for a tile.
  struct PackedOperands {
    const Multiplier* by = nullptr;
    std::vector<std::int32_t> order = {};
    std::vector<std::byte> rows = {}, columns = {};
    std::size_t row_bytes = 0, column_bytes = 0;  ///< of an element
    TileMask unusable{};
  };

  int node(const SumNode& x, std::span<const std::int32_t> order = {});
  int added(int left, int right, const Format& to);
  int converted(int from, const Format& to);
  int products(int c, const GemmModel& model, const Multiplier& multiplier, const Multiplier* steps,
               std::span<const int> order);
  int run_of_products(int c, const Multiplier& multiplier, std::span<const int> order);
  const EpiloguePlan& conversion(const Format& from, const Format& to);
  void convert(std::uint64_t* values, const Format& from, const Format& to);

  std::size_t stride() const { return rows_ * group_columns; }
  /// Lines from `first` on; which of them are not usable.
  std::uint32_t pack(const PackedOperands& x, bool are_columns, std::size_t first,
                     std::size_t count, std::size_t lines, std::byte* to) const;
  void pack_elements(PackedOperands& x, std::span<const std::size_t> elements) const;
  void pack_tile(PackedOperands& x, std::size_t i, std::size_t j) const;
  /// Nodes, with c's first element of a row.
  template <class FirstC>
  void compute_nodes(bool is_tile, const FirstC& first_c);
  void multiply(const SumNode& x, bool is_tile, std::uint64_t* sums, TileMask& left) const;

  bool by_definition() const { return &kernels_ == &binade::kernels(Level::reference); }

  const KernelRun& run_;
  const Kernels& kernels_;
  std::vector<SumNode> nodes_;
  std::vector<PackedOperands> operands_;
  std::unordered_map<std::uint64_t, int> known_;  // by a hash of all that a node is
  std::vector<Format> formats_;
  std::vector<EpiloguePlan> conversions_;
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<std::uint64_t> values_;  // a tile's rows, node after node
  std::vector<TileMask> left_;
  SumProgram program_;
  std::vector<int> stack_;
  std::vector<std::int32_t> placed_;
};

/// The multiplier's model of single steps, where one does what `model` does; else nothing.
std::optional<GemmModel> model_of_steps(const GemmModel& model);

}  // namespace binade
