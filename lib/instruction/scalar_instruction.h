// SPDX-License-Identifier: Apache-2.0
//
// PTX's scalar and packed instructions that a device runs and a recording holds: the conversions of
// emulate/cvt_table.h, the arithmetic of emulate/ptx_scalar_table.h, sums in memory, and
// approximations, which are recorded only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "emulate/cvt.h"
#include "emulate/ptx_scalar.h"

namespace binade {

enum class ScalarKind : std::uint8_t {
  conversion,
  arithmetic,
  memory,  ///< red: adds to what lies in memory; emulated as arithmetic
  approximation,
};

/// Operand words as PTX writes them. `cvt.rs` to four lanes has five: a, b, e, f and rbits.
using ScalarOperands = std::array<std::uint64_t, 5>;

/// One instruction without its name. A kernel takes it by value.
struct ScalarOperation {
  ScalarKind kind = ScalarKind::conversion;
  PtxCvt cvt{};                    ///< of a conversion
  PtxScalar arithmetic{};          ///< of arithmetic and memory
  int words = 0;                   ///< operand words
  std::array<int, 5> word_bits{};  ///< of each
  int lanes = 1;
  int inputs = 1;         ///< numbers that a lane takes
  OperandFormats from{};  ///< theirs
  bool packed = true;  ///< a word holds an input of all lanes; else a word of its own for each lane
  bool random = false;   ///< the last word is rbits
  bool widened = false;  ///< its f32 inputs are those that f16 and bf16 have
  Format result{};       ///< of a lane
  int result_bits = 0;   ///< all lanes

  constexpr int result_lane_bits() const { return result_bits / lanes; }
};

struct ScalarInstruction {
  std::string name;  ///< PTX's: "cvt.rn.f16.f32"
  int number = 0;    ///< its place in scalar_instructions()
  SmTarget target{};
  ScalarOperation operation{};

  /// Approximations have no emulation.
  bool is_emulated() const { return operation.kind != ScalarKind::approximation; }
};

/// Every one, of all architectures.
std::span<const ScalarInstruction> scalar_instructions();

/// Error with the nearest name.
const ScalarInstruction& parse_scalar_instruction(std::string_view name);

/// "sm_100f": the lowest target that has it.
std::string sm_target_name(const SmTarget& target);

/// "needs sm_100f": why code for `target` cannot run it; none: it can.
std::optional<std::string> why_lacking(const ScalarInstruction& instruction,
                                       const SmTarget& target);

/// What the emulator gives of a kind that is known; of a device's kernel only that is compiled.
template <ScalarKind kind>
constexpr std::uint64_t emulate_as(const ScalarOperation& x, const ScalarOperands& operands) {
  if constexpr (kind == ScalarKind::conversion) {
    const auto rbits = x.random ? operands[static_cast<std::size_t>(x.words - 1)] : 0;
    return compute(x.cvt, {operands[0], operands[1], operands[2], operands[3]},
                   static_cast<std::uint32_t>(rbits));
  } else {
    return compute(x.arithmetic, {operands[0], operands[1], operands[2]});
  }
}

/// What the emulator gives; an approximation has none.
constexpr std::uint64_t emulate(const ScalarOperation& x, const ScalarOperands& operands) {
  return x.kind == ScalarKind::conversion ? emulate_as<ScalarKind::conversion>(x, operands)
                                          : emulate_as<ScalarKind::arithmetic>(x, operands);
}

}  // namespace binade
