// SPDX-License-Identifier: Apache-2.0
//
// The options of rows of dot products.
#include "lib/cli/dot_options.h"

#include "lib/instruction/instruction_name.h"

namespace binade {

DotOptionNames add_dot_options(App app, DotOptions& o) {
  return {
      .architecture = app.add_option("--arch", o.architecture, architecture_range()),
      .instruction = app.add_option("--instruction", o.instruction,
                                    "as mma.m16n8k16.f32.f16.f16.f32; see binade architectures"),
      .a = app.add_option("--a", o.files.a, ".npy of shape (rows, K): bits, or the dtype itself"),
      .b = app.add_option("--b", o.files.b, "likewise"),
      .c = app.add_option("--c", o.c, ".npy of shape (rows,); without it +0"),
      .d = app.add_option("--d", o.files.d, ".npy of shape (rows,): what the hardware gave")};
}

Instruction instruction_of(const DotOptions& o) {
  return parse_instruction(o.instruction, parse_architecture(o.architecture));
}

DotFiles files_of(const DotOptions& o) {
  DotFiles out = o.files;
  if (!o.c.empty()) out.c = o.c;
  return out;
}

}  // namespace binade
