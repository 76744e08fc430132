// SPDX-License-Identifier: Apache-2.0
//
// The tables of architectures, shapes and models: they fit each other, hold no model twice, and
// have the published numbers.
#include "emulate/instruction_models.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/instruction/instruction_name.h"

namespace binade::instruction_models_test {
namespace {

TEST_CASE("every legal shape has a model on each of its architectures") {
  for (const ShapeRow& row : shape_rows) {
    for (const Architecture& on : architectures) {
      if (!has(on, row)) continue;
      CAPTURE(on.sm);
      for (const TypeName& a : type_names) {
        for (const TypeName& d : type_names) {
          const DotTypes types{a.format, a.format, d.format, d.format};
          if (!takes(row, types.a, types.b, types.c, types.d)) continue;
          CAPTURE(std::string(a.name) + " to " + std::string(d.name));
          CHECK(find_model(row.family, on, row.k, types, row.kind).has_value());
        }
      }
    }
  }
}

TEST_CASE("every model of the table belongs to an instruction on its first and last architecture") {
  for (const ModelRow& row : model_rows) {
    for (const int like : {row.first_sm, row.last_sm}) {
      std::vector<Instruction> all;
      for (const Architecture& on : architectures) {
        if (on.like != like) continue;
        for (const Instruction& x : instructions_of(on.sm)) all.push_back(x);
      }
      CAPTURE(like);
      CAPTURE(std::string(type_name(row.d)));
      CHECK(std::ranges::any_of(all, [&](const Instruction& x) {
        return row.families.contains(x.family) && contains(row.operands, x.types.a) &&
               x.types.d == row.d && x.model == row.model && x.kind == row.kind;
      }));
    }
  }
}

TEST_CASE("a model is one row: no two rows of the same types and model touch") {
  for (const ModelRow& x : model_rows) {
    for (const ModelRow& y : model_rows) {
      const bool same = x.operands == y.operands && x.d == y.d && x.model == y.model &&
                        x.only_k == y.only_k && x.unlike_c == y.unlike_c && x.kind == y.kind;
      CHECK((&x == &y || !same));
    }
  }
}

TEST_CASE("each kind with scales of blocks has as many scales as its name says, of its type") {
  std::size_t rows = 0;
  for (const Architecture& on : architectures) {
    for (const Instruction& x : instructions_of(on.sm)) {
      CAPTURE(instruction_name(x));
      CHECK(is_scaled(x.model) == (x.kind != ScaledKind::none));
      if (!is_scaled(x.model)) continue;
      const ScaledKindName& name = name_of(x.kind);
      const bool sparse = x.family != dense_family(x.family);
      CHECK(x.model.scaling.share * name.count == (sparse ? x.k / 2 : x.k));
      CHECK(x.model.scaling.format == (name.type == "ue4m3" ? ue4m3 : e8m0));
      CHECK(name.vector == std::to_string(name.count) + "X");
      CHECK(on.like == (dense_family(x.family) == Family::tcgen05 ? 100 : 120));
      CHECK(x.model.sparse_group == (!sparse ? 0 : name.kind == "mxf8f6f4" ? 4 : 8));
      CHECK(x.model.block == (sparse ? x.k / 2 : x.k));
      ++rows;
    }
  }
  // Dense and sparse: mma on sm_120 and 121, tcgen05 of m128 and m256 on sm_100, 103 and 110.
  CHECK(rows == 2 * 2 * 29 + 3 * 2 * 2 * 29);
}

TEST_CASE("an architecture that is like another has its instructions and models") {
  for (const Architecture& on : architectures) {
    const Architecture* like = find_architecture(on.like);
    REQUIRE(like != nullptr);
    CHECK(like->like == like->sm);
    for (const UsualInstruction& usual : on.usual) CHECK(!usual.name.empty());
    if (like->sm == on.sm) continue;
    const std::vector<Instruction> own = instructions_of(on.sm);
    const std::vector<Instruction> theirs = instructions_of(like->sm);
    REQUIRE(own.size() == theirs.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK(own[i].model == theirs[i].model);
      CHECK(own[i].types == theirs[i].types);
    }
  }
}

struct Published {
  const char* name;
  std::vector<int> like;  ///< the architectures, with all that are like them
  int block, fraction_bits, exponent_floor;
  bool expanded = false;
};

TEST_CASE("block length, fraction bits and floor of every model are the published ones") {
  const Published rows[] = {
      {"mma.m8n8k4.f32.f16.f16.f32", {70}, 4, 23, -131},
      {"wmma.m16n16k16.f16.f16.f16.f16", {70}, 4, 23, -19},
      {"mma.m16n8k8.f32.f16.f16.f32", {75, 80, 89}, 8, 24, -132},
      {"mma.m16n8k8.f16.f16.f16.f16", {75, 80, 89}, 8, 24, -20},
      {"mma.m16n8k16.f32.bf16.bf16.f32", {80, 89}, 8, 24, -132},
      {"wmma.m16n16k8.f32.tf32.tf32.f32", {80, 89}, 4, 24, -132},
      {"mma.m16n8k32.f32.e4m3.e5m2.f32", {89}, 16, 13, -132},
      {"mma.m16n8k32.f16.e5m2.e5m2.f16", {89}, 16, 13, -20},
      {"wmma.m8n32k16.f32.f16.f16.f32", {90, 100, 120}, 16, 25, -133},
      {"mma.m16n8k16.f16.f16.f16.f16", {90, 100, 120}, 16, 25, -21},
      {"mma.m16n8k8.f32.bf16.bf16.f32", {90, 100, 120}, 16, 25, -133},
      {"mma.m16n8k8.f32.tf32.tf32.f32", {90, 100, 120}, 8, 25, -133},
      {"mma.m16n8k32.f32.e4m3.e4m3.f32", {90, 100}, 16, 25, -133, true},
      {"mma.m16n8k32.f16.e4m3.e4m3.f16", {90, 100}, 16, 25, -21, true},
      {"wgmma.m64n64k16.f32.f16.f16", {90}, 16, 25, -133},
      {"wgmma.m64n64k16.f16.f16.f16", {90}, 16, 25, -21},
      {"wgmma.m64n64k16.f32.bf16.bf16", {90}, 16, 25, -133},
      {"wgmma.m64n64k8.f32.tf32.tf32", {90}, 8, 25, -133},
      {"wgmma.m64n64k32.f32.e5m2.e4m3", {90}, 32, 13, -133},
      {"wgmma.m64n64k32.f16.e5m2.e4m3", {90}, 32, 13, -133},
      {"tcgen05.m128n64k16.f32.f16.f16", {100}, 16, 25, -133},
      {"tcgen05.m128n64k16.f16.f16.f16", {100}, 16, 25, -21},
      {"tcgen05.m64n8k16.f32.bf16.bf16", {100}, 16, 25, -133},
      {"tcgen05.m256n256k8.f32.tf32.tf32", {100}, 8, 25, -133},
      {"tcgen05.m128n64k32.f32.e2m1.e4m3", {100}, 32, 25, -133},
      {"tcgen05.m128n64k32.f16.e3m2.e2m3", {100}, 32, 25, -21},
      {"mma.m16n8k32.f32.e4m3.e2m1.f32", {120}, 32, 25, -133},
      {"mma.m16n8k32.f16.e4m3.e4m3.f16", {120}, 32, 25, -21},
      {"mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0",
       {120},
       32,
       25,
       -133},
      {"mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
       {120},
       64,
       35,
       -139},
      {"tcgen05.m128n64k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.ue4m3",
       {100},
       64,
       35,
       -139},
  };
  for (const Architecture& on : architectures) {
    CAPTURE(on.sm);
    std::size_t models = 0;
    for (const Published& row : rows) {
      if (std::ranges::find(row.like, on.like) == row.like.end()) continue;
      CAPTURE(std::string(row.name));
      const Instruction x = parse_instruction(row.name, on.sm);
      CHECK(x.model.block == row.block);
      CHECK(x.model.fraction_bits == row.fraction_bits);
      CHECK(x.model.exponent_floor == row.exponent_floor);
      CHECK((x.model.recipe == Recipe::expanded) == row.expanded);
      const bool to_f16 = x.types.d == binary16;
      CHECK(x.model.rounding == (to_f16 ? Rounding::ties_to_even : Rounding::toward_zero));
      const bool short_grid = x.model.fraction_bits == 13 && !to_f16;
      CHECK(x.model.grid == (short_grid ? Format{8, 14, 127} : x.types.d));
      ++models;
    }
    CHECK(models > 0);
  }
  const Instruction f64 = parse_instruction("mma.m8n8k4.f64.f64.f64.f64", 80);
  CHECK(f64.model.recipe == Recipe::fma_chain);
  CHECK(f64.model.rounding == Rounding::ties_to_even);
  CHECK(parse_instruction("wmma.m8n8k4.rz.f64.f64.f64.f64", 90).model.rounding ==
        Rounding::toward_zero);
}

}  // namespace
}  // namespace binade::instruction_models_test
