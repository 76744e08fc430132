// SPDX-License-Identifier: Apache-2.0
//
// Asks the terminal each time, since its window may change.
#include "lib/text/terminal_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "lib/text/paragraph.h"

namespace binade {

std::size_t terminal_width(std::size_t most) {
  constexpr std::size_t least = 40;
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_col == 0) {
    return most;
  }
  return std::clamp(std::size_t{size.ws_col}, least, most);
}

std::string wrapped_to_terminal(const std::string& text, std::size_t indent) {
  return wrapped(text, indent, terminal_width());
}

}  // namespace binade
