// SPDX-License-Identifier: Apache-2.0
//
// Prints the emulator's table of Tensor Core instructions, a line each: the architecture's target
// with all instructions (90a), binade's name and PTX's name. mma_names_test.py lets ptxas judge
// them, ptx_names_test.py looks for them in cuda/.
#include <cstdio>
#include <string>

#include "lib/instruction/instruction_name.h"

int main() {
  for (const binade::Architecture& on : binade::architectures) {
    const int sm = on.sm;
    for (const binade::Instruction& x : binade::instructions_of(sm)) {
      const std::string target =
          std::to_string(sm) + (on.suffix == ' ' ? "" : std::string(1, on.suffix));
      std::printf("%s %s %s\n", target.c_str(), instruction_name(x).c_str(), ptx_of(x).c_str());
    }
  }
  return 0;
}
