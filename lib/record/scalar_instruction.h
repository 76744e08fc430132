// SPDX-License-Identifier: Apache-2.0
//
// PTX's scalar and packed instructions that a device runs and a recording holds: the conversions of
// emulate/cvt_table.h, the arithmetic of emulate/ptx_scalar.h, and approximations that are recorded
// only.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "emulate/cvt.h"
#include "emulate/ptx_scalar.h"

namespace binade {

enum class ScalarKind : std::uint8_t { conversion, arithmetic, approximation };

/// One instruction, by value in kernels but for its name.
struct ScalarOperation {
  ScalarKind kind = ScalarKind::conversion;
  PtxCvt cvt{};                       ///< of a conversion
  PtxScalar arithmetic{};             ///< of arithmetic
  int operands = 0;                   ///< words of an operand array that it takes
  std::array<int, 4> operand_bits{};  ///< of each, all lanes
  int lanes = 1;
  int result_bits = 0;  ///< all lanes
  Format result{};      ///< of a lane
};

struct ScalarInstruction {
  std::string name;  ///< PTX's: "cvt.rn.f16.f32"
  int number = 0;    ///< its place in scalar_instructions()
  SmTarget target{};
  ScalarOperation operation{};
};

/// Every one, of all architectures.
std::span<const ScalarInstruction> scalar_instructions();

/// Error with the nearest name.
const ScalarInstruction& parse_scalar_instruction(std::string_view name);

/// What the emulator gives; an approximation has none. Compiles for devices too.
constexpr std::uint64_t emulate(const ScalarOperation& x,
                                const std::array<std::uint64_t, 4>& operands) {
  if (x.kind == ScalarKind::conversion) return compute(x.cvt, operands);
  return compute(x.arithmetic, {operands[0], operands[1], operands[2]});
}

}  // namespace binade
