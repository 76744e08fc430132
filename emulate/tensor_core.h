// SPDX-License-Identifier: Apache-2.0
//
// One Tensor Core instruction on one architecture: legal shape, model, evidence, put together from the
// tables of mma_shapes.h and dot_models.h.
#pragma once

#include <optional>
#include <string_view>

#include "emulate/dot_models.h"

namespace binade {

/// One instruction on one architecture.
struct Instruction {
  Family family = Family::mma;
  int sm = 0;
  int m = 0, n = 0, k = 0;
  DotTypes types{};
  DotModel model{};
  Evidence evidence = Evidence::open;
  std::string_view source{};
  std::string_view open{};
};

/// Sparse instructions follow the model of the dense ones over what is kept: open but for sm_90.
constexpr Family dense_family(Family f) {
  return f == Family::mma_sp ? Family::mma : f == Family::wgmma_sp ? Family::wgmma : f;
}

constexpr std::optional<ModelRow> find_dense_model(Family family, int sm, int k,
                                                   const DotTypes& types) {
  for (const ModelRow& row : model_rows) {
    if ((row.only_k != 0 && row.only_k != k) || (row.unlike_c && types.c == types.d)) continue;
    if (row.families.contains(family) && sm >= row.first_sm && sm <= row.last_sm &&
        contains(row.operands, types.a) && contains(row.operands, types.b) && row.d == types.d) {
      return row;
    }
  }
  return std::nullopt;
}

constexpr std::optional<ModelRow> find_model(Family family, int sm, int k, const DotTypes& types) {
  const bool sparse = family != dense_family(family);
  std::optional<ModelRow> row =
      find_dense_model(dense_family(family), sm, sparse ? k / 2 : k, types);
  if (!row || !sparse) return row;
  row->model.sparse_group = types.a == tf32 ? 2 : 4;
  if (sm == 90) return row;
  row->evidence = Evidence::open;
  row->source = "as dense";
  row->open = "which products share a block";
  return row;
}

/// The instruction of a legal shape and types; none where PTX has none.
constexpr std::optional<Instruction> find_instruction(Family family, int sm, int m, int n, int k,
                                                      const DotTypes& types) {
  bool legal = false;
  for (const ShapeRow& row : shape_rows) {
    legal = legal || (row.family == family && sm >= row.first_sm && sm <= row.last_sm &&
                      is_shape(row, m, n, k) && takes(row, types.a, types.b, types.c, types.d));
  }
  const std::optional<ModelRow> row = find_model(family, sm, k, types);
  if (!legal || !row) return std::nullopt;
  Instruction out{family, sm, m, n, k, types, row->model, row->evidence, row->source, row->open};
  for (const Doubt& doubt : doubts) {
    const bool meant =
        doubt.families.contains(family) && sm >= doubt.first_sm && sm <= doubt.last_sm &&
        contains(doubt.operands, types.a) && contains(doubt.operands, types.b) &&
        (doubt.only_k == 0 || doubt.only_k == k) && (!doubt.unlike_c || types.c != types.d) &&
        (!doubt.unlike_a || types.a != types.b);
    if (!meant || doubt.evidence <= out.evidence) continue;
    out.evidence = doubt.evidence;
    out.open = doubt.open;
  }
  return out;
}

}  // namespace binade
