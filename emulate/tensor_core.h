// SPDX-License-Identifier: Apache-2.0
//
// Which model of dot.h each Tensor Core instruction follows, with the evidence for it. Rows are chosen
// by family, architecture and types; m and n take no part in a model. The numbers: rows recorded on
// GPUs (Khattak and Mikaitis, arXiv 2512.07004, data of MATLAB-tensor-core) or, as "paper", MMA-Sim
// (arXiv 2511.10909).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulate/dot.h"
#include "emulate/mma_shapes.h"

namespace binade {

enum class Evidence : std::uint8_t {
  hardware,  ///< rows recorded on a GPU are reproduced bit for bit
  paper,     ///< published models, no rows
  open,      ///< by analogy
};
inline constexpr std::array<std::string_view, 3> evidence_names{"hardware", "paper", "open"};

/// Which families a row is for.
struct Families {
  bool mma = false, wmma = false, wgmma = false, tcgen05 = false;

  constexpr bool contains(Family f) const {
    return std::array{mma, wmma, wgmma, tcgen05}[static_cast<std::size_t>(f)];
  }
};
inline constexpr Families warp{.mma = true, .wmma = true};
inline constexpr Families mma_only{.mma = true};
inline constexpr Families wgmma_only{.wgmma = true};
inline constexpr Families tcgen05_only{.tcgen05 = true};

/// The model of some instructions; the first row that fits counts.
struct ModelRow {
  Families families;
  int first_sm, last_sm;
  OperandSet operands;
  Format d;
  DotModel model;
  Evidence evidence;
  std::string_view source;  ///< whose rows, or which publication
  std::string_view open;    ///< what of it no hardware row has shown
};

namespace detail {

/// Cut toward zero to binary32. The floor lies 108 binades below F.
constexpr DotModel to_f32(int block, int f) {
  return {Recipe::fused_block, block, f, -108 - f, binary32, Rounding::toward_zero};
}
/// Rounded to binary16. In mma and wmma the floor is 4 - F: open, another source says 3 - F.
constexpr DotModel to_f16(int block, int f) {
  return {Recipe::fused_block, block, f, 4 - f, binary16, Rounding::ties_to_even};
}
/// Native FP8 up to Hopper: F = 13, and binary32 results with 13 fraction bits.
constexpr DotModel fp8_to_f32(int block, int floor) {
  return {Recipe::fused_block, block, 13, floor, {8, 14, 127}, Rounding::toward_zero};
}
constexpr DotModel fp8_to_f16(int block, int floor) {
  return {Recipe::fused_block, block, 13, floor, binary16, Rounding::ties_to_even};
}
constexpr DotModel with_floor(DotModel model, int floor) {
  model.exponent_floor = floor;
  return model;
}
constexpr DotModel expanded(DotModel inner) {
  inner.recipe = Recipe::expanded;
  return inner;
}
inline constexpr DotModel dmma{Recipe::fma_chain, 1, 0, 0, binary64, Rounding::ties_to_even};

}  // namespace detail

inline constexpr std::string_view floor_open = "the exponent floor";
inline constexpr std::string_view floor_f16_open = "the exponent floor: 4 - F, or 3 - F";
inline constexpr std::string_view unrecorded = "everything";

inline constexpr std::array model_rows{
    ModelRow{warp, 70, 70, OperandSet::only_f16, binary32, detail::to_f32(4, 23),
             Evidence::hardware, "V100", "k above 4: chains of blocks"},
    ModelRow{warp, 70, 70, OperandSet::only_f16, binary16, detail::to_f16(4, 23),
             Evidence::hardware, "V100", floor_f16_open},
    ModelRow{warp, 75, 75, OperandSet::only_f16, binary32, detail::to_f32(8, 24), Evidence::paper,
             "MMA-Sim", unrecorded},
    ModelRow{warp, 75, 75, OperandSet::only_f16, binary16, detail::to_f16(8, 24), Evidence::paper,
             "MMA-Sim", unrecorded},
    ModelRow{warp, 80, 89, OperandSet::only_f16, binary32, detail::to_f32(8, 24),
             Evidence::hardware, "A100, A2, Ada", "k above 8: chains of blocks"},
    ModelRow{warp, 80, 89, OperandSet::only_f16, binary16, detail::to_f16(8, 24),
             Evidence::hardware, "A100, A2, Ada", floor_f16_open},
    ModelRow{warp, 80, 89, OperandSet::only_bf16, binary32, detail::to_f32(8, 24),
             Evidence::hardware, "A100, A2, Ada", floor_open},
    ModelRow{warp, 80, 89, OperandSet::only_tf32, binary32, detail::to_f32(4, 24),
             Evidence::hardware, "A100, A2, Ada", "k above 4: chains of blocks"},
    ModelRow{mma_only, 89, 89, OperandSet::fp8, binary32, detail::fp8_to_f32(16, -132),
             Evidence::hardware, "Ada", "e4m3 with e5m2"},
    ModelRow{mma_only, 89, 89, OperandSet::fp8, binary16, detail::fp8_to_f16(16, -20),
             Evidence::hardware, "Ada", floor_f16_open},
    ModelRow{warp, 90, 90, OperandSet::only_f16, binary32, detail::to_f32(16, 25),
             Evidence::hardware, "H100, H200", ""},
    ModelRow{warp, 90, 90, OperandSet::only_f16, binary16, detail::to_f16(16, 25),
             Evidence::hardware, "H100, H200", floor_f16_open},
    ModelRow{warp, 90, 90, OperandSet::only_bf16, binary32, detail::to_f32(16, 25),
             Evidence::hardware, "H100, H200", floor_open},
    ModelRow{warp, 90, 90, OperandSet::only_tf32, binary32, detail::to_f32(8, 25),
             Evidence::hardware, "H100, H200", "blocks of 8: the rows have 4 products"},
    ModelRow{mma_only, 90, 90, OperandSet::fp8, binary16, detail::expanded(detail::to_f16(16, 25)),
             Evidence::hardware, "H100, H200", "specials; compiler code, may change with CUDA"},
    ModelRow{mma_only, 90, 90, OperandSet::fp8, binary32, detail::expanded(detail::to_f32(16, 25)),
             Evidence::open, "as B200", "everything; compiler code, may change with CUDA"},
    ModelRow{wgmma_only, 90, 90, OperandSet::only_f16, binary32, detail::to_f32(16, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::only_f16, binary16,
             detail::with_floor(detail::to_f16(16, 25), -133), Evidence::paper, "MMA-Sim",
             unrecorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::only_bf16, binary32, detail::to_f32(16, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::only_tf32, binary32, detail::to_f32(8, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::fp8, binary32, detail::fp8_to_f32(32, -133),
             Evidence::hardware, "H100, H200", "c other than +0; e4m3 with e5m2"},
    ModelRow{wgmma_only, 90, 90, OperandSet::fp8, binary16, detail::fp8_to_f16(32, -133),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{warp, 100, 100, OperandSet::only_f16, binary32, detail::to_f32(16, 25),
             Evidence::hardware, "B200", ""},
    ModelRow{warp, 100, 100, OperandSet::only_f16, binary16, detail::to_f16(16, 25),
             Evidence::hardware, "B200", floor_f16_open},
    ModelRow{warp, 100, 100, OperandSet::only_bf16, binary32, detail::to_f32(16, 25),
             Evidence::hardware, "B200", floor_open},
    ModelRow{warp, 100, 100, OperandSet::only_tf32, binary32, detail::to_f32(8, 25),
             Evidence::hardware, "B200", "blocks of 8: the rows have 4 products"},
    ModelRow{mma_only, 100, 100, OperandSet::fp8, binary16,
             detail::expanded(detail::to_f16(16, 25)), Evidence::hardware, "B200",
             "specials; compiler code, may change with CUDA"},
    ModelRow{mma_only, 100, 100, OperandSet::fp8, binary32,
             detail::expanded(detail::to_f32(16, 25)), Evidence::hardware, "B200",
             "order of k; specials; compiler code, may change with CUDA"},
    ModelRow{tcgen05_only, 100, 103, OperandSet::only_f16, binary32, detail::to_f32(16, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{tcgen05_only, 100, 103, OperandSet::only_f16, binary16,
             detail::with_floor(detail::to_f16(16, 25), -133), Evidence::paper, "MMA-Sim",
             unrecorded},
    ModelRow{tcgen05_only, 100, 103, OperandSet::only_bf16, binary32, detail::to_f32(16, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{tcgen05_only, 100, 103, OperandSet::only_tf32, binary32, detail::to_f32(8, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{tcgen05_only, 100, 103, OperandSet::f8f6f4, binary32, detail::to_f32(32, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{tcgen05_only, 100, 103, OperandSet::f8f6f4, binary16,
             detail::with_floor(detail::to_f16(32, 25), -133), Evidence::paper, "MMA-Sim",
             unrecorded},
    ModelRow{mma_only, 103, 103, OperandSet::fp8, binary16,
             detail::expanded(detail::to_f16(16, 25)), Evidence::open, "as B200", unrecorded},
    ModelRow{mma_only, 103, 103, OperandSet::fp8, binary32,
             detail::expanded(detail::to_f32(16, 25)), Evidence::open, "as B200", unrecorded},
    ModelRow{warp, 103, 120, OperandSet::only_f16, binary32, detail::to_f32(16, 25), Evidence::open,
             "as B200", unrecorded},
    ModelRow{warp, 103, 120, OperandSet::only_f16, binary16, detail::to_f16(16, 25), Evidence::open,
             "as B200", unrecorded},
    ModelRow{warp, 103, 120, OperandSet::only_bf16, binary32, detail::to_f32(16, 25),
             Evidence::open, "as B200", unrecorded},
    ModelRow{warp, 103, 120, OperandSet::only_tf32, binary32, detail::to_f32(8, 25), Evidence::open,
             "as B200", unrecorded},
    ModelRow{mma_only, 120, 120, OperandSet::f8f6f4, binary32, detail::to_f32(32, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{mma_only, 120, 120, OperandSet::f8f6f4, binary16, detail::to_f16(32, 25),
             Evidence::paper, "MMA-Sim", unrecorded},
    ModelRow{warp, 80, 120, OperandSet::only_f64, binary64, detail::dmma, Evidence::paper,
             "MMA-Sim", "everything, the bits of NaNs too"},
};

/// Instructions that a row's evidence does not reach, although its model is the best there is.
struct Doubt {
  int first_sm, last_sm;
  OperandSet operands;
  int only_k;         ///< 0: every k
  bool unlike_c;      ///< c's type is not d's
  bool unlike_a;      ///< a's type is not b's
  Evidence evidence;  ///< at best
  std::string_view open;
};

inline constexpr std::array doubts{
    Doubt{75, 120, OperandSet::only_f16, 4, false, false, Evidence::open,
          "m8n8k4 is not native: in which instructions it is written"},
    Doubt{70, 70, OperandSet::only_f16, 0, true, false, Evidence::paper,
          "c of another type than d"},
    Doubt{75, 120, OperandSet::only_f16, 0, true, false, Evidence::open,
          "c of another type than d"},
    Doubt{90, 103, OperandSet::fp8, 16, false, false, Evidence::open,
          "m16n8k16: one f16 instruction instead of two"},
    Doubt{120, 120, OperandSet::fp8, 16, false, false, Evidence::open, "m16n8k16"},
    Doubt{89, 103, OperandSet::fp8, 0, false, true, Evidence::paper, "e4m3 with e5m2"},
};

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

constexpr std::optional<ModelRow> find_model(Family family, int sm, const DotTypes& types) {
  for (const ModelRow& row : model_rows) {
    if (row.families.contains(family) && sm >= row.first_sm && sm <= row.last_sm &&
        contains(row.operands, types.a) && contains(row.operands, types.b) && row.d == types.d) {
      return row;
    }
  }
  return std::nullopt;
}

/// The instruction of a legal shape and types; none where PTX has none.
constexpr std::optional<Instruction> find_instruction(Family family, int sm, int m, int n, int k,
                                                      const DotTypes& types) {
  bool legal = false;
  for (const ShapeRow& row : shape_rows) {
    legal = legal || (row.family == family && sm >= row.first_sm && sm <= row.last_sm &&
                      is_shape(row, m, n, k) && takes(row, types.a, types.b, types.c, types.d));
  }
  const std::optional<ModelRow> row = find_model(family, sm, types);
  if (!legal || !row) return std::nullopt;
  Instruction out{family, sm, m, n, k, types, row->model, row->evidence, row->source, row->open};
  for (const Doubt& doubt : doubts) {
    const bool meant =
        sm >= doubt.first_sm && sm <= doubt.last_sm && contains(doubt.operands, types.a) &&
        contains(doubt.operands, types.b) && (doubt.only_k == 0 || doubt.only_k == k) &&
        (!doubt.unlike_c || types.c != types.d) && (!doubt.unlike_a || types.a != types.b);
    if (!meant || doubt.evidence <= out.evidence) continue;
    out.evidence = doubt.evidence;
    out.open = doubt.open;
  }
  return out;
}

}  // namespace binade
