// SPDX-License-Identifier: Apache-2.0
//
// The folder in which this code itself is installed, to find what is installed beside it.
#pragma once

#include <filesystem>

namespace binade {

/// Returns the folder of the shared library that holds this code (a Python module, say), or else of
/// the running program, whatever name it was called by. Returns an empty path if the system does
/// not say.
std::filesystem::path own_folder();

}  // namespace binade
