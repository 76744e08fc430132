// SPDX-License-Identifier: Apache-2.0
//
// Prints the emulator's table of Tensor Core instructions, a line each: architecture, binade's name and
// PTX's name. mma_names_test.py lets ptxas judge them, ptx_names_test.py looks for them in cuda/.
#include <cstdio>

#include "lib/instruction/instruction_name.h"

int main() {
  for (const binade::Architecture& on : binade::architectures) {
    const int sm = on.sm;
    for (const binade::Instruction& x : binade::instructions_of(sm)) {
      std::printf("%d %s %s\n", sm, instruction_name(x).c_str(), ptx_of(x).c_str());
    }
  }
  return 0;
}
