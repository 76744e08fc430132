// SPDX-License-Identifier: Apache-2.0
//
// The table of models: which one of dot.h a Tensor Core instruction follows, with the evidence for it.
// Rows are chosen by family, architecture and types; m and n take no part in a model. The numbers: rows recorded on
// GPUs (Khattak and Mikaitis, arXiv 2512.07004, data of MATLAB-tensor-core; of sm_90 also tests/recordings/sm_90) or, as
// "paper", MMA-Sim (arXiv 2511.10909).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emulate/dot.h"
#include "emulate/mma_shapes.h"

namespace binade {

enum class Evidence : std::uint8_t {
  hardware,      ///< rows recorded on a GPU are reproduced bit for bit
  machine_code,  ///< the instructions that ptxas 13.0 writes for it, each of them known
  paper,         ///< published models, no rows
  open,          ///< by analogy
};
inline constexpr std::array<std::string_view, 4> evidence_names{"hardware", "machine code", "paper",
                                                                "open"};

/// Which families a row is for.
struct Families {
  bool mma = false, wmma = false, wgmma = false, tcgen05 = false;

  constexpr bool contains(Family f) const {
    return std::array{mma, wmma, wgmma, tcgen05, false, false}[static_cast<std::size_t>(f)];
  }
};
inline constexpr Families warp{.mma = true, .wmma = true};
inline constexpr Families mma_only{.mma = true};
inline constexpr Families wmma_only{.wmma = true};
inline constexpr Families wgmma_only{.wgmma = true};
inline constexpr Families mma_and_wgmma{.mma = true, .wgmma = true};
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
  int only_k = 0;           ///< 0: every k
  bool unlike_c = false;    ///< only where c's type is not d's
};

namespace detail {

/// Cut toward zero to binary32. The floor lies 108 binades below F.
constexpr DotModel to_f32(int block, int f) {
  return {Recipe::fused_block, block, f, -108 - f, binary32, Rounding::toward_zero};
}
/// Rounded to binary16. In mma, wmma and wgmma the floor is 4 - F: rows of an H100; elsewhere open.
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
  inner.c_last = true;
  return inner;
}
/// c and the sums in binary32, and at the end to binary16: wmma with c in f32 and d in f16.
constexpr DotModel narrowed(DotModel inner) {
  inner.through_f32 = true;
  return inner;
}
/// mma.m8n8k4 of f16 where no instruction does it: fma in binary32 from +0, then + c.
inline constexpr DotModel m8n8k4{Recipe::fma_chain,      1,    0,   0, binary32,
                                 Rounding::ties_to_even, true, true};
/// Of f16 into f16 likewise, in another order.
inline constexpr DotModel pairs{.recipe = Recipe::pairwise};
inline constexpr DotModel exact_integer{.recipe = Recipe::exact_integer};
inline constexpr DotModel dmma{Recipe::fma_chain, 1, 0, 0, binary64, Rounding::ties_to_even};

}  // namespace detail

inline constexpr std::string_view floor_open = "the exponent floor";
inline constexpr std::string_view floor_f16_open = "the exponent floor: 4 - F, or 3 - F";
inline constexpr std::string_view unrecorded = "everything";
/// Of sm_90 every instruction was recorded (wgmma with n = 256, in which a model takes no part), operands of all
/// generators: tests/recordings/sm_90.
inline constexpr std::string_view recorded = "";
inline constexpr std::string_view by_compiler = "compiler code, may change with CUDA";

inline constexpr std::array model_rows{
    ModelRow{mma_only, 75, 75, OperandSet::only_f16, binary32, detail::to_f32(8, 24),
             Evidence::open, "as m16n8k8", "m8n8k4 is other instructions there: HMMA.884", 4},
    ModelRow{mma_only, 75, 75, OperandSet::only_f16, binary16, detail::to_f16(8, 24),
             Evidence::open, "as m16n8k8", "m8n8k4 is other instructions there: HMMA.884", 4},
    ModelRow{mma_only, 90, 90, OperandSet::only_f16, binary32, detail::m8n8k4, Evidence::hardware,
             "H100, H200", by_compiler, 4},
    ModelRow{mma_only, 90, 90, OperandSet::only_f16, binary16, detail::pairs, Evidence::hardware,
             "H100, H200", by_compiler, 4},
    ModelRow{mma_only, 80, 120, OperandSet::only_f16, binary32, detail::m8n8k4,
             Evidence::machine_code, "ptxas 13.0", "may change with CUDA", 4},
    ModelRow{mma_only, 80, 120, OperandSet::only_f16, binary16, detail::pairs,
             Evidence::machine_code, "ptxas 13.0", "may change with CUDA", 4},
    ModelRow{warp, 70, 70, OperandSet::only_f16, binary16, detail::narrowed(detail::to_f32(4, 23)),
             Evidence::open, "as sm_75", "c in f32, d in f16", 0, true},
    ModelRow{warp, 75, 75, OperandSet::only_f16, binary16, detail::narrowed(detail::to_f32(8, 24)),
             Evidence::paper, "ptxas, MMA-Sim", "c in f32, d in f16", 0, true},
    ModelRow{warp, 80, 89, OperandSet::only_f16, binary16, detail::narrowed(detail::to_f32(8, 24)),
             Evidence::machine_code, "ptxas 13.0", "c in f32, d in f16", 0, true},
    ModelRow{warp, 90, 90, OperandSet::only_f16, binary16, detail::narrowed(detail::to_f32(16, 25)),
             Evidence::hardware, "H100, H200", by_compiler, 0, true},
    ModelRow{warp, 100, 100, OperandSet::only_f16, binary16,
             detail::narrowed(detail::to_f32(16, 25)), Evidence::machine_code, "ptxas 13.0",
             "c in f32, d in f16", 0, true},
    ModelRow{warp, 103, 120, OperandSet::only_f16, binary16,
             detail::narrowed(detail::to_f32(16, 25)), Evidence::open, "as B200",
             "c in f32, d in f16", 0, true},
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
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{warp, 90, 90, OperandSet::only_f16, binary16, detail::to_f16(16, 25),
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{warp, 90, 90, OperandSet::only_bf16, binary32, detail::to_f32(16, 25),
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{wmma_only, 90, 90, OperandSet::only_tf32, binary32, detail::to_f32(4, 25),
             Evidence::hardware, "H100, H200", by_compiler},
    ModelRow{wmma_only, 100, 100, OperandSet::only_tf32, binary32, detail::to_f32(4, 25),
             Evidence::hardware, "B200", "k above 4: ptxas 13.0 writes two of k4"},
    ModelRow{wmma_only, 103, 120, OperandSet::only_tf32, binary32, detail::to_f32(4, 25),
             Evidence::open, "as B200", unrecorded},
    ModelRow{warp, 90, 90, OperandSet::only_tf32, binary32, detail::to_f32(8, 25),
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{mma_only, 90, 90, OperandSet::fp8, binary16, detail::expanded(detail::to_f16(16, 25)),
             Evidence::hardware, "H100, H200", by_compiler},
    ModelRow{mma_only, 90, 90, OperandSet::fp8, binary32, detail::expanded(detail::to_f32(16, 25)),
             Evidence::hardware, "H100, H200", by_compiler},
    ModelRow{wgmma_only, 90, 90, OperandSet::only_f16, binary32, detail::to_f32(16, 25),
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::only_f16, binary16, detail::to_f16(16, 25),
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::only_bf16, binary32, detail::to_f32(16, 25),
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::only_tf32, binary32, detail::to_f32(8, 25),
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::fp8, binary32, detail::fp8_to_f32(32, -133),
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{wgmma_only, 90, 90, OperandSet::fp8, binary16, detail::fp8_to_f16(32, -133),
             Evidence::hardware, "H100, H200", recorded},
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
    ModelRow{mma_and_wgmma, 90, 90, OperandSet::int8, s32, detail::exact_integer,
             Evidence::hardware, "H100, H200", recorded},
    ModelRow{mma_only, 90, 90, OperandSet::int4, s32, detail::exact_integer, Evidence::hardware,
             "H100, H200", recorded},
    ModelRow{mma_only, 90, 90, OperandSet::only_b1, s32, detail::exact_integer, Evidence::hardware,
             "H100, H200", recorded},
    ModelRow{warp, 90, 90, OperandSet::only_f64, binary64, detail::dmma, Evidence::hardware,
             "H100, H200", recorded},
    ModelRow{mma_and_wgmma, 80, 120, OperandSet::int8, s32, detail::exact_integer, Evidence::paper,
             "PTX ISA 9.0", unrecorded},
    ModelRow{mma_only, 80, 120, OperandSet::int4, s32, detail::exact_integer, Evidence::paper,
             "PTX ISA 9.0", unrecorded},
    ModelRow{mma_only, 80, 120, OperandSet::only_b1, s32, detail::exact_integer, Evidence::paper,
             "PTX ISA 9.0", unrecorded},
    ModelRow{warp, 80, 120, OperandSet::only_f64, binary64, detail::dmma, Evidence::paper,
             "MMA-Sim", unrecorded},
};

/// Instructions that a row's evidence does not reach, although its model is the best there is.
struct Doubt {
  Families families;
  int first_sm, last_sm;
  OperandSet operands;
  int only_k;         ///< 0: every k
  bool unlike_c;      ///< c's type is not d's
  bool unlike_a;      ///< a's type is not b's
  Evidence evidence;  ///< at best
  std::string_view open;
};

inline constexpr std::array doubts{
    Doubt{warp, 70, 75, OperandSet::only_f16, 0, true, false, Evidence::paper,
          "c of another type than d"},
    Doubt{warp, 80, 89, OperandSet::only_f16, 0, true, false, Evidence::machine_code,
          "c of another type than d"},
    Doubt{warp, 100, 120, OperandSet::only_f16, 0, true, false, Evidence::machine_code,
          "c of another type than d"},
    Doubt{mma_only, 100, 103, OperandSet::fp8, 16, false, false, Evidence::machine_code,
          "m16n8k16"},
    Doubt{mma_only, 120, 120, OperandSet::fp8, 16, false, false, Evidence::open, "m16n8k16"},
    Doubt{mma_only, 89, 89, OperandSet::fp8, 0, false, true, Evidence::paper, "e4m3 with e5m2"},
    Doubt{mma_only, 100, 103, OperandSet::fp8, 0, false, true, Evidence::machine_code,
          "e4m3 with e5m2"},
};

}  // namespace binade
