// SPDX-License-Identifier: Apache-2.0
//
// The options that name an instruction and rows of dot products (arrays a, b, c, d and scales in
// files), which `binade validate dots` and `binade explain dots` share.
#pragma once

#include "lib/cli/parser.h"
#include "lib/gemm/dot_files.h"

namespace binade {

/// The options that add_dot_options declared, so that each command can say which of them it
/// requires.
struct DotOptionNames {
  Option architecture, instruction, a, b, c, d, a_scale, b_scale;
};
/// Declares --arch, --instruction, --a, --b, --c, --d, --a-scale and --b-scale. `options` must live
/// as long as the command.
DotOptionNames add_dot_options(App app, DotOptions& options);

}  // namespace binade
