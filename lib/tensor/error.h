// SPDX-License-Identifier: Apache-2.0
//
// The one exception of lib: a single line that says what is wrong, where, and what to do about it.
// The command line prints it after "binade: " and exits with 2.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace binade {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Text from outside (tensor names, file names, parser messages) made fit for one line of a
/// terminal: control characters become \xNN, a long text keeps only its beginning.
inline std::string printable(std::string_view text, std::size_t longest = 200) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool inside_character = (byte & 0xC0) == 0x80 && i < longest + 3;
    if (i >= longest && !inside_character) return line + "...";
    // UTF-8 writes the controls U+0080..U+009F as C2 80..C2 9F.
    const bool c1 =
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte >= 0x20 && byte != 0x7F && !c1) {
      line += text[i];
    } else {
      line += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return line;
}

constexpr std::size_t longest_path = 4096;

/// "grads.npy: truncated at byte 4096; export the file again"
inline Error error_at(std::string_view file, std::string_view what, std::uint64_t offset,
                      std::string_view what_to_do) {
  return Error(printable(file, longest_path) + ": " + std::string(what) + " at byte " +
               std::to_string(offset) + "; " + std::string(what_to_do));
}

/// "grads.npy: no such file; check the spelling"
inline Error error_in(std::string_view file, std::string_view what, std::string_view what_to_do) {
  return Error(printable(file, longest_path) + ": " + std::string(what) + "; " +
               std::string(what_to_do));
}

}  // namespace binade
