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
/// around them: Unicode's format characters, such as marks of direction (U+200E, U+202E …), soft
/// hyphens and tags, but for the signs of numbers and verses that some scripts see; line and
/// paragraph separators; and what else is ignored by default where fonts have nothing for it
/// (Default_Ignorable_Code_Point, variation selectors too).
constexpr bool changes_the_line(unsigned code) {
  struct Range {
    unsigned first, last;
  };
  constexpr Range ranges[] = {{0x00AD, 0x00AD},   {0x034F, 0x034F},   {0x061C, 0x061C},
                              {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},
                              {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
                              {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
                              {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0x13430, 0x1345F},
                              {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
  for (const Range& x : ranges) {
    if (code >= x.first && code <= x.last) return true;
  }
  return false;
}

/// Returns the length in bytes of the UTF-8 character at the beginning of a text; 0 for bytes that
/// are not UTF-8, and for an empty text.
inline std::size_t utf8_character(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  const bool fits = first >= 0xC2 && first <= 0xF4 &&      // not overlong, at most U+10FFFF,
                    (first != 0xE0 || byte(1) >= 0xA0) &&  // not overlong,
                    (first != 0xED || byte(1) < 0xA0) &&   // no surrogate,
                    (first != 0xF0 || byte(1) >= 0x90) &&  // not overlong,
                    (first != 0xF4 || byte(1) < 0x90);     // at most U+10FFFF
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return fits ? length : 0;
}

/// Returns the number of the UTF-8 character that a text is.
inline unsigned code_of_utf8(std::string_view character) {
  unsigned code = static_cast<unsigned char>(character[0]);
  if (character.size() > 1) code &= 0x7FU >> character.size();
  for (const char next : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned>(next) & 0x3FU);
  }
  return code;
}

/// Returns the length in bytes of the UTF-8 character at the beginning of a text if it may be
/// printed on a terminal. Returns 0 for control characters (C0, DEL and U+0080..U+009F), for
/// characters that change the line (above), for bytes that are not UTF-8, and for an empty text.
inline std::size_t printable_character(std::string_view text) {
  const std::size_t length = utf8_character(text);
  if (length == 0) return 0;
  const unsigned code = code_of_utf8(text.substr(0, length));
  const bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  return is_control || changes_the_line(code) ? 0 : length;
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
