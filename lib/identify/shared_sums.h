// SPDX-License-Identifier: Apache-2.0
//
// The sums of many models as one graph. What their programs (lib/gemm/sum_program.h) have in common
// is one node, and is computed once, for some elements at a time.
//
//     K = 16
//     --split 2       (k 0 … 7) + (k 8 … 15)                   nodes: zero, two runs of products, an addition;
//     --split 2:8     (k 0 … 7) + (k 8 … 15)                   the second model adds none,
//     --split 4:4     ((k 0 … 3) + (k 4 … 7)) + …              the third its own runs and additions
//
// Two kinds of instructions without a kernel become steps that have one, as their definitions are
// written: the chain of m8n8k4, which begins at +0 and to which c is added, and pairs of products
// (emulate/dot_model.h).
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

/// A model with its kernel and its decoded operands.
struct Multiplier {
  GemmModel model{};
  OperandReading reading{};
  const DecodedOperands* operands = nullptr;
  /// For each packed operand of an instruction: its number, from 0, in the order in which the sum
  /// takes k.
  std::vector<int> places = {};
};
Multiplier multiplier_of(const GemmModel& model, const OperandReading& reading,
                         const DecodedOperands& operands);

/// An intermediate value of a sum.
struct SumNode {
  enum class Kind : std::uint8_t { zero, minus_zero, c, products, add, add_scaled, convert };
  Kind kind{};
  int left = -1, right = -1;  ///< the nodes that it is made of; -1: none
  Format format{};
  /// For products: the number of their PackedOperands, and the first operand in these.
  std::size_t operands = 0, first = 0;
  int instructions = 0;
  /// For add_scaled: how, and the number of the run of K whose scales multiply.
  PromotionScaling scaling{};
  std::size_t run = 0;
};

/// The graph of the sums of some models for one run.
class SharedSums {
 public:
  SharedSums(const KernelRun& run, const Kernels& kernels) : run_(run), kernels_(kernels) {}

  /// Adds a model's sum to the graph and returns its node. `steps`, unless null, multiplies in
  /// place of a `multiplier` without a kernel.
  int add(const GemmModel& model, const Multiplier& multiplier, const Multiplier* steps);
  /// Returns the node of D if the epilogue only adds C and converts, else nothing.
  std::optional<int> finished(int sum, const GemmModel& model);
  const Format& format(int node) const { return nodes_[static_cast<std::size_t>(node)].format; }

  /// Returns how many elements may be computed at a time, from 1 to tile_columns.
  std::size_t lanes() const;
  /// Computes every node for some elements, at most tile_columns, which become row 0 of a tile.
  void compute(std::span<const std::size_t> elements);
  /// Computes every node for a tile of a product: at most tile_rows rows of D from row `i` on, and
  /// at most tile_columns columns from column `j` on.
  void compute_tile(std::size_t i, std::size_t j);

  /// The size of the tile that was computed last, and the values of a node in one of its rows.
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  const std::uint64_t* values(int node, std::size_t row) const {
    return values_.data() + static_cast<std::size_t>(node) * stride() + row * group_columns;
  }
  /// Returns the elements of a row, bit by bit, that only the definition can compute.
  std::uint32_t left(int node, std::size_t row) const {
    return left_[static_cast<std::size_t>(node)][row];
  }

 private:
  static constexpr auto group_rows = static_cast<std::size_t>(tile_rows);
  static constexpr auto group_columns = static_cast<std::size_t>(tile_columns);

  /// All operands of one multiplier's products, packed for each element or for a tile.
  struct PackedOperands {
    const Multiplier* by = nullptr;
    std::vector<std::int32_t> order = {};
    std::vector<std::byte> rows = {}, columns = {};
    std::size_t row_bytes = 0, column_bytes = 0;  ///< bytes of one element's operands
    TileMask unusable{};
    /// Of a model that multiplies by scales: those of the operands, as codes (TileScales), for each
    /// element or for a tile; empty: all are 1.
    std::vector<std::uint32_t> row_scales = {}, column_scales = {};

    /// How many runs of operands share a scale.
    std::size_t shares() const {
      const int share = by->model.model.scaling.share;
      return share == 0 ? 0 : order.size() / static_cast<std::size_t>(share);
    }
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
  /// Packs lines from `first` on; returns which of them are not usable.
  std::uint32_t pack(const PackedOperands& x, bool are_columns, std::size_t first,
                     std::size_t count, std::size_t lines, std::byte* to) const;
  /// Appends the scales of `count` lines of a or b from `first` on.
  void add_scales(PackedOperands& x, bool are_columns, std::size_t first, std::size_t count) const;
  void pack_elements(PackedOperands& x, std::span<const std::size_t> elements) const;
  void pack_tile(PackedOperands& x, std::size_t i, std::size_t j) const;
  /// Computes all nodes; first_c(row, column) returns an element of C.
  template <class FirstC>
  void compute_nodes(bool is_tile, const FirstC& first_c);
  void multiply(const SumNode& x, bool is_tile, std::uint64_t* sums, TileMask& left) const;
  void gather_scales(const auto& row_of, const auto& column_of);
  RowScales scales_of(const SumNode& x, std::size_t row) const;

  bool by_definition() const { return &kernels_ == &binade::kernels(Level::reference); }

  const KernelRun& run_;
  const Kernels& kernels_;
  std::vector<SumNode> nodes_;
  std::vector<PackedOperands> operands_;
  // Maps the hash of all that a node is made of to the node.
  std::unordered_map<std::uint64_t, int> known_;
  std::vector<Format> formats_;
  std::vector<EpiloguePlan> conversions_;
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<std::uint64_t> values_;  // rows of a tile, node after node
  std::vector<TileMask> left_;
  // Scales of runs of K of the elements that are computed, [run][row][column]; empty: all are 1.
  std::vector<std::uint32_t> a_scales_, b_scales_;
  SumProgram program_;
  std::vector<int> stack_;
  std::vector<std::int32_t> placed_;
};

/// Returns a chain of single steps that computes what `model` does, or nothing if there is none.
std::optional<GemmModel> model_of_steps(const GemmModel& model);

}  // namespace binade
