// SPDX-License-Identifier: Apache-2.0
//
// The one exception of lib. Its message is a single line that says what is wrong, where, and what
// to do about it. The command line prints it after "binade: " and exits with 2.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace binade {

/// Returns whether a character is one of the invisible ones that reorder, break or hide the text
/// around them: marks of direction (U+200E, U+202E …), line and paragraph separators, and spaces of
/// no width.
constexpr bool changes_the_line(unsigned code) {
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0x061C || code == 0xFEFF;
}

/// Returns the length in bytes of the UTF-8 character at the beginning of a text if it may be
/// printed on a terminal. Returns 0 for control characters (C0, DEL, and U+0080..U+009F, spelled C2
/// 80..C2 9F), for characters that change the line (above), for bytes that are not UTF-8, and for
/// an empty text.
inline std::size_t printable_character(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&byte](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  if (first >= 0xC2 && first <= 0xDF) {
    if (!continues(1) || (first == 0xC2 && byte(1) < 0xA0)) return 0;
    return changes_the_line((first & 0x1F) << 6 | (byte(1) & 0x3F)) ? 0 : 2;
  }
  if (first >= 0xE0 && first <= 0xEF) {  // not overlong, not a surrogate
    const bool fits = (first != 0xE0 || byte(1) >= 0xA0) && (first != 0xED || byte(1) < 0xA0);
    if (!fits || !continues(1) || !continues(2)) return 0;
    const unsigned code = (first & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    return changes_the_line(code) ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {  // not overlong, at most U+10FFFF
    const bool fits = (first != 0xF0 || byte(1) >= 0x90) && (first != 0xF4 || byte(1) < 0x90);
    return fits && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

/// Returns text from outside (tensor names, file names, parser messages) in a form that fits into
/// one line of a terminal: bytes that must not be printed become \xNN, and once `longest` bytes or
/// more of the result are written, "..." takes the place of the rest.
inline std::string printable(std::string_view text, std::size_t longest = 200) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string line;
  for (std::size_t i = 0; i < text.size();) {
    if (line.size() >= longest) return line + "...";
    const std::size_t length = printable_character(text.substr(i));
    if (length > 0) {
      line += text.substr(i, length);
    } else {
      const auto byte = static_cast<unsigned char>(text[i]);
      line += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
    i += length > 0 ? length : 1;
  }
  return line;
}

/// Its message is one line that a terminal may show, whatever text of users and files it repeats:
/// the constructor makes it printable().
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& line)
      : std::runtime_error(printable(line, std::string::npos)) {}
};

/// The Error of a file or folder that the operating system does not open, read or write, or that is
/// not what it was used as (a folder where a file is needed, say).
class FileError : public Error {
 public:
  using Error::Error;
};

/// The `longest` with which messages print a path: the longest that Linux takes, in bytes.
constexpr std::size_t longest_path = 4096;

/// Returns an Error such as "grads.npy: truncated at byte 4096; export the file again".
inline Error error_at(std::string_view file, std::string_view what, std::uint64_t offset,
                      std::string_view what_to_do) {
  return Error(printable(file, longest_path) + ": " + std::string(what) + " at byte " +
               std::to_string(offset) + "; " + std::string(what_to_do));
}

/// Returns an Error such as "grads.npy: no such file; check the spelling".
inline Error error_in(std::string_view file, std::string_view what, std::string_view what_to_do) {
  return Error(printable(file, longest_path) + ": " + std::string(what) + "; " +
               std::string(what_to_do));
}

/// Returns the message of error_in as a FileError.
inline FileError file_error(std::string_view file, std::string_view what,
                            std::string_view what_to_do) {
  return FileError(error_in(file, what, what_to_do).what());
}

}  // namespace binade
