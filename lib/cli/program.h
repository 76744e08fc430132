// SPDX-License-Identifier: Apache-2.0
//
// The whole program as a function, for `main` and for the Python module's command.
#pragma once

namespace binade {

/// Runs the command that the arguments name, argv[0] aside; what is wrong becomes a line on standard error. Returns the
/// exit status.
int run_program(int argc, const char* const* argv);

}  // namespace binade
