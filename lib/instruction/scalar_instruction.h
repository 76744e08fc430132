// SPDX-License-Identifier: Apache-2.0
//
// PTX's scalar and packed instructions, as devices run and recordings hold them: the conversions of
// emulate/cvt_table.h, the arithmetic of emulate/ptx_scalar_table.h, sums in memory, and
// approximations, which are recorded but not emulated.
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
  memory,  ///< PTX's red, which adds a number to one in memory; emulated as arithmetic
  approximation,
};

/// The operand words of an instruction in PTX's order. cvt.rs to four lanes has the most, five: a,
/// b, e, f and rbits.
using ScalarOperands = std::array<std::uint64_t, 5>;

/// What an instruction computes, without its name. A GPU's kernel takes it by value.
struct ScalarOperation {
  ScalarKind kind = ScalarKind::conversion;
  PtxCvt cvt{};                    ///< the conversion, where kind is conversion
  PtxScalar arithmetic{};          ///< the operation, where kind is arithmetic or memory
  int words = 0;                   ///< number of operand words
  std::array<int, 5> word_bits{};  ///< width of each operand word
  int lanes = 1;
  int inputs = 1;         ///< number of inputs of a lane
  OperandFormats from{};  ///< formats of the inputs
  bool packed = true;     ///< whether a word holds one input of all lanes, not of one lane
  bool random = false;   ///< whether the last word is rbits, the random bits of stochastic rounding
  bool widened = false;  ///< whether cases are limited to f32 inputs that are f16 or bf16 numbers
  Format result{};       ///< format of a lane's result
  int result_bits = 0;   ///< width of the result, all lanes together

  constexpr int result_lane_bits() const { return result_bits / lanes; }
};

struct ScalarInstruction {
  std::string name;   ///< PTX's name: "cvt.rn.f16.f32"
  int number = 0;     ///< its index in scalar_instructions()
  SmTarget target{};  ///< lowest target that has it
  ScalarOperation operation{};

  /// Returns false for approximations, which have no emulation.
  bool is_emulated() const { return operation.kind != ScalarKind::approximation; }
};

/// Returns all scalar instructions of all architectures.
std::span<const ScalarInstruction> scalar_instructions();

/// Throws Error with the nearest name if no instruction has this name.
const ScalarInstruction& parse_scalar_instruction(std::string_view name);

/// Returns the name of a target: "sm_100f".
std::string sm_target_name(const SmTarget& target);

/// Returns the reason why code for `target` cannot run the instruction, "needs sm_100f", or nothing
/// if it can.
std::optional<std::string> why_lacking(const ScalarInstruction& instruction,
                                       const SmTarget& target);

/// Returns the emulator's result for an instruction whose kind is known at compile time, so that a
/// GPU's kernel contains the code of that kind only.
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

/// Returns the emulator's result. The instruction must not be an approximation.
constexpr std::uint64_t emulate(const ScalarOperation& x, const ScalarOperands& operands) {
  return x.kind == ScalarKind::conversion ? emulate_as<ScalarKind::conversion>(x, operands)
                                          : emulate_as<ScalarKind::arithmetic>(x, operands);
}

}  // namespace binade
