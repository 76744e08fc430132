// SPDX-License-Identifier: Apache-2.0
//
// Colours for text on a terminal. A Paint that is off returns the text unchanged.
#pragma once

#include <string>

namespace binade {

struct Paint {
  bool on;  ///< whether colours are written
  /// Returns the text between the escape sequence of `code` (bold or dim, below) and the one that
  /// ends it.
  std::string operator()(const char* code, const std::string& text) const {
    return on ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
  }
};
inline constexpr const char* bold = "1";
inline constexpr const char* dim = "2";

}  // namespace binade
