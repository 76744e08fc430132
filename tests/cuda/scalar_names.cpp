// SPDX-License-Identifier: Apache-2.0
//
// Prints the scalar instructions that are no conversions, a line each: name, lowest target, operand
// bits.
#include <cstdio>

#include "lib/instruction/scalar_instruction.h"

int main() {
  using namespace binade;
  for (const ScalarInstruction& x : scalar_instructions()) {
    if (x.operation.kind == ScalarKind::conversion) continue;
    std::printf("%s %d", x.name.c_str(), x.target.sm);
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.operation.words); ++i) {
      std::printf(" %d", x.operation.word_bits[i]);
    }
    std::printf("\n");
  }
  return 0;
}
