// SPDX-License-Identifier: Apache-2.0
//
// One Tensor Core instruction on one architecture: its legal shape and its model, from the tables
// of architectures.h, instruction_shapes.h and instruction_models.h. lib/evidence says which
// recordings and publications support each model.
#pragma once

#include <optional>

#include "emulate/instruction_models.h"

namespace binade {

/// One instruction on one architecture: D = A·B + C, where A is m × k and B is k × n.
struct Instruction {
  Family family = Family::mma;
  int sm = 0;  ///< Architecture::sm
  int m = 0, n = 0, k = 0;
  DotTypes types{};
  DotModel model{};
  ScaledKind kind = ScaledKind::none;  ///< PTX's kind, where blocks have scales
};

/// Returns whether a row of the table of models is for an instruction of a dense family.
constexpr bool fits(const ModelRow& row, Family dense, const Architecture& on, int k,
                    const DotTypes& types, ScaledKind kind) {
  return row.kind == kind && row.families.contains(dense) &&
         on.is_like(row.first_sm, row.last_sm) && (row.only_k == 0 || row.only_k == k) &&
         (!row.unlike_c || types.c != types.d) && contains(row.operands, types.a) &&
         contains(row.operands, types.b) && row.d == types.d;
}

/// Returns the model of the first row that fits, or nothing. A sparse instruction follows the model
/// of the dense instruction with half its k.
constexpr std::optional<DotModel> find_model(Family family, const Architecture& on, int k,
                                             const DotTypes& types,
                                             ScaledKind kind = ScaledKind::none) {
  const Family dense = dense_family(family);
  const bool sparse = family != dense;
  for (const ModelRow& row : model_rows) {
    if (!fits(row, dense, on, sparse ? k / 2 : k, types, kind)) continue;
    DotModel out = row.model;
    const bool in_pairs = row.operands == OperandSet::only_e2m1;
    if (sparse) out.sparse_group = types.a == tf32 ? 2 : in_pairs ? sparse_group_of_pairs : 4;
    return out;
  }
  return std::nullopt;
}

/// Returns the instruction of a family, an architecture, a shape and types, or nothing if PTX has
/// no such instruction there or its model is not known.
constexpr std::optional<Instruction> find_instruction(Family family, int sm, int m, int n, int k,
                                                      const DotTypes& types,
                                                      ScaledKind kind = ScaledKind::none) {
  const Architecture* on = find_architecture(sm);
  if (on == nullptr) return std::nullopt;
  bool legal = false;
  for (const ShapeRow& row : shape_rows) {
    legal = legal || (row.family == family && row.kind == kind && has(*on, row) &&
                      is_shape(row, m, n, k) && takes(row, types.a, types.b, types.c, types.d));
  }
  const std::optional<DotModel> model = find_model(family, *on, k, types, kind);
  if (!legal || !model) return std::nullopt;
  return Instruction{family, sm, m, n, k, types, *model, kind};
}

}  // namespace binade
