// SPDX-License-Identifier: Apache-2.0
//
// The whole program as a function, for `main` and for the Python module's command.
#pragma once

#include <functional>

namespace binade {

/// Runs the command that the arguments name, argv[0] aside; what is wrong becomes a line on standard error. Returns the
/// exit status. on_exception is called, if it is given, in the handler of one that is not the program's, and may throw it on.
int run_program(int argc, const char* const* argv, const std::function<void()>& on_exception = {});

}  // namespace binade
