// SPDX-License-Identifier: Apache-2.0
//
// Colours of a terminal, or none.
#pragma once

#include <fmt/format.h>

#include <string>

namespace binade {

struct Paint {
  bool on;
  std::string operator()(const char* code, const std::string& text) const {
    return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
};
inline constexpr const char* bold = "1";
inline constexpr const char* dim = "2";

}  // namespace binade
