// SPDX-License-Identifier: Apache-2.0
//
// Declares the options that name an instruction and rows of dot products.
#include "lib/cli/dot_options.h"

#include "lib/cli/suggestions.h"
#include "lib/instruction/instruction_name.h"

namespace binade {

DotOptionNames add_dot_options(App app, DotOptions& o) {
  return {
      .architecture =
          app.add_option("--arch", o.architecture,
                         "architecture of the GPU whose instruction it is, " + architecture_range())
              .suggest(architecture_words),
      .instruction =
          app.add_option("--instruction", o.instruction,
                         "name of the instruction, such as mma.m16n8k16.f32.f16.f16.f32; `binade "
                         "architectures --names` lists all")
              .suggest(instruction_words),
      .a = app.add_option("--a", o.files.a,
                          ".npy file of the operands a, of shape (rows, K): unsigned integers that "
                          "hold the bits, "
                          "or numbers of the type's own dtype. A K below the instruction's is "
                          "padded with zeros")
               .suggest_files(),
      .b = app.add_option("--b", o.files.b, ".npy file of the operands b, of shape (rows, K), as a")
               .suggest_files(),
      .c = app.add_option("--c", o.c,
                          ".npy file of the operands c, of shape (rows,), as a (default: +0)")
               .suggest_files(),
      .d = app.add_option("--d", o.files.d,
                          ".npy file of what the hardware gave, of shape (rows,), as a")
               .suggest_files(),
      .a_scale =
          app.add_option("--a-scale", o.files.a_scale,
                         ".npy file of the scales of a's blocks, for an instruction with "
                         ".block_scale in its name, of shape (rows, N) for its scale_vec::NX, as a "
                         "(default: 1)")
              .suggest_files(),
      .b_scale = app.add_option("--b-scale", o.files.b_scale, "the same of b").suggest_files()};
}

}  // namespace binade
