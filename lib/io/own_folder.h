// SPDX-License-Identifier: Apache-2.0
//
// Where this code itself lies, for what is installed beside it.
#pragma once

#include <filesystem>

namespace binade {

/// The folder of the shared library that holds this code (a Python module's, say), else of the running program, whatever
/// name it was called by. Empty where the system does not tell.
std::filesystem::path own_folder();

}  // namespace binade
