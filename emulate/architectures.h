// SPDX-License-Identifier: Apache-2.0
//
// The table of NVIDIA's architectures with Tensor Cores, one row each. Every part of the project
// that names an architecture reads this table. To add an architecture of which nothing else is
// known, add a row that is `like` an older one: it then has the instruction shapes
// (instruction_shapes.h) and the arithmetic (instruction_models.h) of the older architecture, but
// not its evidence (lib/evidence). Which conversions and other scalar instructions it has follows
// from its number and suffix (sm_target.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace binade {

/// A family of PTX instructions that multiply matrices; `_sp` is a sparse form (sparse.h).
enum class Family : std::uint8_t { mma, wmma, wgmma, tcgen05, mma_sp, wgmma_sp, tcgen05_sp };
inline constexpr std::array<std::string_view, 7> family_names{
    "mma", "wmma", "wgmma", "tcgen05", "mma.sp", "wgmma.sp", "tcgen05.sp"};

/// Returns the dense family whose arithmetic a sparse one follows, over the products that its
/// metadata keep. A dense family is returned as it is.
constexpr Family dense_family(Family f) {
  switch (f) {
    case Family::mma_sp: return Family::mma;
    case Family::wgmma_sp: return Family::wgmma;
    case Family::tcgen05_sp: return Family::tcgen05;
    default: return f;
  }
}

/// A set of dense families.
struct Families {
  bool mma = false, wmma = false, wgmma = false, tcgen05 = false;

  constexpr bool contains(Family f) const {
    return std::array{mma, wmma, wgmma, tcgen05, false, false, false}[static_cast<std::size_t>(f)];
  }
};

/// The instruction that trainings and binade.torch take for an architecture's products of operands
/// in a format: an mma or a wgmma. No row names tcgen05: it has the arithmetic of the mma that
/// stands here for binary16, bfloat16 and tf32, but not of the one for e4m3 (instruction_models.h).
struct UsualInstruction {
  std::string_view format;       ///< of the operands: a name from emulate/format.h's table
  std::string_view accumulator;  ///< "f32" or "f16"
  std::string_view name;         ///< {a}, {b} stand for PTX's names of the operands' types
};

/// A row of the table of architectures.
struct Architecture {
  int sm = 0;               ///< number in the names of its targets: 90 for sm_90
  char suffix = ' ';        ///< of the target with all instructions: 'a' for sm_90a, ' ' for sm_80
  std::string_view gpus{};  ///< names of GPUs, separated by commas
  Families families{};      ///< dense families; sparse forms from sm_80 on
  int like = 0;             ///< sm whose shapes and models it has: its own or an older one
  std::span<const UsualInstruction> usual{};  ///< instructions for the formats of training

  /// Returns whether the architecture has the shapes and models of an sm from `first` to `last`.
  constexpr bool is_like(int first, int last) const { return like >= first && like <= last; }
  /// Returns the usual instruction for a format and an accumulator, or null if none is known.
  constexpr const UsualInstruction* usual_for(std::string_view format,
                                              std::string_view accumulator) const {
    for (const UsualInstruction& row : usual) {
      if (row.format == format && row.accumulator == accumulator) return &row;
    }
    return nullptr;
  }
};

namespace detail {

inline constexpr Families until_ada{.mma = true, .wmma = true};
inline constexpr Families with_wgmma{.mma = true, .wmma = true, .wgmma = true};
inline constexpr Families with_tcgen05{.mma = true, .wmma = true, .tcgen05 = true};

inline constexpr std::array<UsualInstruction, 2> volta_usual{{
    {"binary16", "f32", "mma.m8n8k4.f32.f16.f16.f32"},
    {"binary16", "f16", "mma.m8n8k4.f16.f16.f16.f16"},
}};
inline constexpr std::array<UsualInstruction, 2> turing_usual{{
    {"binary16", "f32", "mma.m16n8k8.f32.f16.f16.f32"},
    {"binary16", "f16", "mma.m16n8k8.f16.f16.f16.f16"},
}};
inline constexpr std::array<UsualInstruction, 6> ada_usual{{
    {"binary16", "f32", "mma.m16n8k16.f32.f16.f16.f32"},
    {"binary16", "f16", "mma.m16n8k16.f16.f16.f16.f16"},
    {"bfloat16", "f32", "mma.m16n8k16.f32.bf16.bf16.f32"},
    {"tf32", "f32", "mma.m16n8k8.f32.tf32.tf32.f32"},
    {"e4m3", "f32", "mma.m16n8k32.f32.{a}.{b}.f32"},
    {"e4m3", "f16", "mma.m16n8k32.f16.{a}.{b}.f16"},
}};
inline constexpr std::span<const UsualInstruction> ampere_usual = std::span(ada_usual).first(4);
inline constexpr std::array<UsualInstruction, 6> hopper_usual{{
    ada_usual[0],
    ada_usual[1],
    ada_usual[2],
    ada_usual[3],
    {"e4m3", "f32", "wgmma.m64n8k32.f32.{a}.{b}"},
    ada_usual[5],
}};

}  // namespace detail

inline constexpr std::array architectures{
    Architecture{70, ' ', "V100", detail::until_ada, 70, detail::volta_usual},
    Architecture{75, ' ', "T4, RTX 20", detail::until_ada, 75, detail::turing_usual},
    Architecture{80, ' ', "A100, A30", detail::until_ada, 80, detail::ampere_usual},
    Architecture{86, ' ', "A2, A10, A16, A40, RTX 30", detail::until_ada, 80, detail::ampere_usual},
    Architecture{89, ' ', "L4, L40, L40S, RTX 40, Ada", detail::until_ada, 89, detail::ada_usual},
    Architecture{90, 'a', "H100, H200, GH200", detail::with_wgmma, 90, detail::hopper_usual},
    Architecture{100, 'a', "B200, GB200", detail::with_tcgen05, 100, detail::ada_usual},
    Architecture{103, 'a', "B300, GB300", detail::with_tcgen05, 100, detail::ada_usual},
    Architecture{110, 'a', "Jetson Thor", detail::with_tcgen05, 100, detail::ada_usual},
    Architecture{120, 'a', "RTX 50, RTX PRO", detail::until_ada, 120, detail::ada_usual},
    Architecture{121, 'a', "DGX Spark", detail::until_ada, 120, detail::ada_usual},
};

/// Returns the row of an sm number, or null if the table has none.
constexpr const Architecture* find_architecture(int sm) {
  for (const Architecture& row : architectures) {
    if (row.sm == sm) return &row;
  }
  return nullptr;
}

}  // namespace binade
