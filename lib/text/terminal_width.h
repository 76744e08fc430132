// SPDX-License-Identifier: Apache-2.0
//
// The width of the terminal to which text is printed.
#pragma once

#include <cstddef>
#include <string>

namespace binade {

/// Returns the columns of the terminal that standard output is, from 40 to `most`, or `most` where
/// it is none.
std::size_t terminal_width(std::size_t most = 98);

/// Returns the text broken as by wrapped(), to this width.
std::string wrapped_to_terminal(const std::string& text, std::size_t indent);

}  // namespace binade
