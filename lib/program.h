// SPDX-License-Identifier: Apache-2.0
//
// The whole program as a function, for `main` and for binade.main() of the Python module.
#pragma once

#include <functional>

namespace binade {

/// What the program says after "binade: " when there is no memory.
inline constexpr char out_of_memory[] =
    "out of memory; give the machine more, or read fewer tensors at once";

/// Runs the command that argv[1] names and returns its exit status. An exception becomes a line on
/// standard error and status
/// 2. If the exception is no Error, std::system_error or std::bad_alloc, `on_exception` is called
/// first, if it is given, inside the handler, and may rethrow the exception to the caller.
int run_program(int argc, const char* const* argv, const std::function<void()>& on_exception = {});

}  // namespace binade
