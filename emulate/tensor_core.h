// SPDX-License-Identifier: Apache-2.0
//
// One Tensor Core instruction on one architecture: legal shape and model, put together from the tables of
// architectures.h, mma_shapes.h and dot_models.h. How anyone knows it is told by lib/evidence.
#pragma once

#include <optional>

#include "emulate/dot_models.h"

namespace binade {

/// One instruction on one architecture.
struct Instruction {
  Family family = Family::mma;
  int sm = 0;
  int m = 0, n = 0, k = 0;
  DotTypes types{};
  DotModel model{};
};

constexpr bool fits(const ModelRow& row, Family dense, const Architecture& on, int k,
                    const DotTypes& types) {
  return row.families.contains(dense) && on.is_like(row.first_sm, row.last_sm) &&
         (row.only_k == 0 || row.only_k == k) && (!row.unlike_c || types.c != types.d) &&
         contains(row.operands, types.a) && contains(row.operands, types.b) && row.d == types.d;
}

/// The first row that fits; sparse instructions follow the dense one of half their k.
constexpr std::optional<DotModel> find_model(Family family, const Architecture& on, int k,
                                             const DotTypes& types) {
  const Family dense = dense_family(family);
  const bool sparse = family != dense;
  for (const ModelRow& row : model_rows) {
    if (!fits(row, dense, on, sparse ? k / 2 : k, types)) continue;
    DotModel out = row.model;
    if (sparse) out.sparse_group = types.a == tf32 ? 2 : 4;
    return out;
  }
  return std::nullopt;
}

/// The instruction of a legal shape and types; none where PTX has none.
constexpr std::optional<Instruction> find_instruction(Family family, int sm, int m, int n, int k,
                                                      const DotTypes& types) {
  const Architecture* on = find_architecture(sm);
  if (on == nullptr) return std::nullopt;
  bool legal = false;
  for (const ShapeRow& row : shape_rows) {
    legal = legal || (row.family == family && has(*on, row) && is_shape(row, m, n, k) &&
                      takes(row, types.a, types.b, types.c, types.d));
  }
  const std::optional<DotModel> model = find_model(family, *on, k, types);
  if (!legal || !model) return std::nullopt;
  return Instruction{family, sm, m, n, k, types, *model};
}

}  // namespace binade
