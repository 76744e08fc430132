// SPDX-License-Identifier: Apache-2.0
//
// Prints, for ptxas to judge, the architecture, name and PTX of every mma, mma.sp and wmma instruction
// of the table.
#include <cstdio>

#include "lib/instruction/instruction_name.h"

int main() {
  for (const binade::Architecture& on : binade::architectures) {
    const int sm = on.sm;
    for (const binade::Instruction& x : binade::instructions_of(sm)) {
      if (!binade::names_c(x.family)) continue;
      std::printf("%d %s %s\n", sm, instruction_name(x).c_str(), ptx_of(x).c_str());
    }
  }
  return 0;
}
