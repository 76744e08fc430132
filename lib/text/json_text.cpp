// SPDX-License-Identifier: Apache-2.0
//
// nlohmann's text, which escapes C0 controls alone, with the other characters escaped that a
// terminal must not get.
#include "lib/text/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns \uNNNN of a number of 16 bits.
std::string escape(unsigned code) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\\u";
  for (const int shift : {12, 8, 4, 0}) out += digits[code >> shift & 0xF];
  return out;
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
    const std::size_t length = shown != 0 ? shown : utf8_character(rest);
    const std::string_view character = rest.substr(0, length);
    if (shown != 0) {
      out += character;
    } else {
      const unsigned code = code_of_utf8(character);
      const unsigned above = code - 0x10000;  // UTF-16's pair of surrogates
      out += code < 0x10000 ? escape(code)
                            : escape(0xD800 + (above >> 10)) + escape(0xDC00 + (above & 0x3FF));
    }
    rest.remove_prefix(length);
  }
  return out;
}

}  // namespace binade
