// SPDX-License-Identifier: Apache-2.0
//
// Numbers are written as upper-case hexadecimal of a fixed width, and words are looked up in
// tables.
#include "tests/oracle/mpfr/lines.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace mpfr_oracle {
namespace {

void append_hex(std::uint64_t bits, int width, std::string& text) {
  for (int shift = (width + 3) / 4 * 4 - 4; shift >= 0; shift -= 4) {
    text += "0123456789ABCDEF"[(bits >> shift) & 15];
  }
}

constexpr std::pair<std::string_view, Rounding> roundings[] = {
    {"near_even", Rounding::near_even},
    {"minMag", Rounding::min_mag},
    {"min", Rounding::min},
    {"max", Rounding::max},
    {"near_maxMag", Rounding::near_max_mag},
    {"odd", Rounding::odd},
};

}  // namespace

void append_line(const Function& function, const Operands& operands, const Outcome& outcome,
                 std::string& text) {
  for (std::size_t i = 0; i < function.operands.size(); ++i) {
    append_hex(operands[i], function.operands[i].container_bits(), text);
    text += ' ';
  }
  append_hex(outcome.bits, function.result.container_bits(), text);
  text += ' ';
  append_hex(static_cast<std::uint64_t>(outcome.flags), 8, text);
  text += '\n';
}

Operands operands_of(const Function& function, const std::string& line) {
  Operands operands{};
  const char* at = line.data();
  for (std::size_t i = 0; i < function.operands.size(); ++i) {
    const auto [end, error] = std::from_chars(at, line.data() + line.size(), operands[i], 16);
    if (error != std::errc()) throw std::runtime_error("no case of " + function.name + ": " + line);
    at = *end == ' ' ? end + 1 : end;
  }
  return operands;
}

std::optional<Rounding> rounding_named(std::string_view word) {
  for (const auto& [name, rounding] : roundings) {
    if (name == word) return rounding;
  }
  return std::nullopt;
}

const Function* function_named(const std::vector<Function>& functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const Function& function) { return function.name == name; });
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace mpfr_oracle
