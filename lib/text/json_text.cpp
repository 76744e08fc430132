// SPDX-License-Identifier: Apache-2.0
//
// nlohmann's text, which escapes C0 controls alone, with the other characters escaped that a terminal must not get.
#include "lib/text/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns the number of the UTF-8 character of two or three bytes that the text is, or its byte.
unsigned code_of(std::string_view character) {
  unsigned code = static_cast<unsigned char>(character[0]);
  if (character.size() > 1) code &= character.size() == 2 ? 0x1FU : 0xFU;
  for (const char next : character.substr(1))
    code = code << 6 | (static_cast<unsigned>(next) & 0x3FU);
  return code;
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  std::string text =
      value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const auto plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; };
  if (std::ranges::all_of(text, plain)) return text;
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t shown = plain(rest[0]) ? 1 : printable_character(rest);
    const std::size_t length = shown != 0                                   ? shown
                               : static_cast<unsigned char>(rest[0]) < 0x80 ? 1
                               : static_cast<unsigned char>(rest[0]) < 0xE0 ? 2
                                                                            : 3;
    const std::string_view character = rest.substr(0, length);
    if (shown != 0) {
      out += character;
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      const unsigned code = code_of(character);
      out += "\\u";
      for (const int shift : {12, 8, 4, 0}) out += digits[code >> shift & 0xF];
    }
    rest.remove_prefix(length);
  }
  return out;
}

}  // namespace binade
