// SPDX-License-Identifier: Apache-2.0
//
// The order of a command's results: files, then text.
#pragma once

#include <functional>

namespace binade {

/// Calls `write`, which writes files, then `print`, which prints the text about them: whoever reads
/// only the beginning of the text (binade … | head -1) ends the program as it prints. The text is
/// printed although the files fail; then what `write` threw is thrown again.
void files_first(const std::function<void()>& write, const std::function<void()>& print);

}  // namespace binade
