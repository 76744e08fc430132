// SPDX-License-Identifier: Apache-2.0
//
// Reads products. An operand that is itself a product stands in parentheses.
#include "lib/explain/dot_terms.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "emulate/integer_dot.h"
#include "emulate/project.h"
#include "lib/explain/explanation_words.h"
#include "lib/explain/literal.h"
#include "lib/text/error.h"

namespace binade {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

[[noreturn]] void fail(std::string_view term, const std::string& what) {
  throw Error(fmt::format("product '{}': {}", printable(trimmed(term)), what));
}

/// Returns the positions of a character outside parentheses.
std::vector<std::size_t> places_of(char wanted, std::string_view text) {
  std::vector<std::size_t> out;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth < 0) fail(text, "a ) without its (");
    if (depth == 0 && text[i] == wanted) out.push_back(i);
  }
  if (depth != 0) fail(text, "a ( without its )");
  return out;
}

/// Removes "8:" from the front of a product and returns 8, its k; returns nothing if the product
/// does not say its k. The colon of an encoding follows letters.
std::optional<std::size_t> take_place(std::string_view& term) {
  const std::string_view digits = trimmed(term.substr(0, term.find(':')));
  if (digits.size() == trimmed(term).size()) return std::nullopt;
  std::size_t k = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), k);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  term.remove_prefix(term.find(':') + 1);
  return k;
}

std::string_view without_parentheses(std::string_view operand) {
  operand = trimmed(operand);
  if (operand.starts_with('(') && operand.ends_with(')')) {
    return trimmed(operand.substr(1, operand.size() - 2));
  }
  return operand;
}

[[noreturn]] void not_a_number(const Literal& x, const Format& f, std::uint64_t nearest) {
  const Typed near{nearest, f};
  throw Error(fmt::format("'{}' is no {} number; the nearest is {}, bits:{}", x.text, type_text(f),
                          brief_value_text(near, 60), bits_text(near)));
}

std::uint64_t integer_encoding(const Literal& x, const Format& f) {
  const std::uint64_t ones = (std::uint64_t{1} << f.bits()) - 1;
  const std::int64_t highest = static_cast<std::int64_t>(f.has_sign ? ones >> 1 : ones);
  const std::int64_t lowest = f.has_sign ? -highest - 1 : 0;
  const Exact value = operand_of(x);
  std::uint64_t magnitude = 0;
  bool fits = value.kind == Kind::zero;
  if (value.kind == Kind::finite && !value.sticky) {
    const std::int64_t end = value.negative ? -lowest : highest;
    fits = x.magnitude <= decimal_of(Dyadic{static_cast<std::uint64_t>(end), 0});
    const int e = value.exponent;
    const uint128 low = e < 0 && e > -128 ? value.significand & ((uint128{1} << -e) - 1) : 0;
    fits = fits && e > -128 && low == 0;
    if (fits) {
      magnitude =
          static_cast<std::uint64_t>(e < 0 ? value.significand >> -e : value.significand << e);
    }
  }
  if (!fits) {
    throw Error(fmt::format("'{}' is no {} number; it holds whole numbers from {} to {}", x.text,
                            type_text(f), lowest, highest));
  }
  return (value.negative ? std::uint64_t{0} - magnitude : magnitude) & ones;
}

}  // namespace

const char* const terms_help =
    "Products are typed as A*B, separated by commas; each operand is exactly a number of its "
    "type:\n"
    "  --terms \"2^-11*2^-14, 1.5*-3, 0x1.8p-3*bits:0x3c00\"\n"
    "An operand that is a product stands in parentheses, (3*2^-26)*2. Products are those of k = 0, "
    "1, …;\n"
    "a number and a colon say another k: \"1*1, 8: 2*3\". Of an instruction with scales of blocks, "
    "--a-scale and\n--b-scale are then numbers, too, one for each block or one for all: --a-scale "
    "\"2^3, bits:0x7e\".";

std::uint64_t exact_encoding(std::string_view text, const Format& f) {
  const Literal x = parse_literal(trimmed(text));
  if (x.encoding && !x.encoding->format) {
    const int width = f.bits() + f.padding_bits;
    if (width < 64 && x.encoding->bits >> width != 0) {
      throw Error(fmt::format("'{}': more than the {} bits of {}", x.text, width, type_text(f)));
    }
    return x.encoding->bits;
  }
  if (is_integer(f)) return integer_encoding(x, f);
  const bool special = x.kind == Kind::infinite || x.kind == Kind::nan;
  const Saturation saturation = special ? Saturation::none : Saturation::finite;
  const Projected out = project(operand_of(x), f, {.saturation = saturation});
  const bool same_kind = decode(out.bits, f).kind == x.kind;
  if (special && !same_kind) {
    throw Error(fmt::format("'{}': {} has none", x.text, type_text(f)));
  }
  if (!same_kind || (out.flags & Flag::inexact) != 0) not_a_number(x, f, out.bits);
  return out.bits;
}

DotTerms parse_terms(std::string_view text, const DotTypes& types, int k) {
  const auto most = static_cast<std::size_t>(k);
  DotTerms out{std::vector<std::uint64_t>(most), std::vector<std::uint64_t>(most)};
  std::vector<bool> taken(most);
  std::vector<std::size_t> ends = places_of(',', text);
  ends.push_back(text.size());
  std::size_t begin = 0;
  std::size_t place = 0;
  for (const std::size_t end : ends) {
    std::string_view term = text.substr(begin, end - begin);
    begin = end + 1;
    place = take_place(term).value_or(place);
    if (place >= most)
      fail(term, fmt::format("k {} is beyond the {} products there are", place, k));
    if (taken[place]) fail(term, fmt::format("k {} is taken", place));
    taken[place] = true;
    const std::vector<std::size_t> stars = places_of('*', term);
    if (stars.empty()) fail(term, "write it as A*B, and commas between products");
    if (stars.size() > 1) {
      fail(term, "more than one *; put an operand that is a product in parentheses: (3*2^-26)*2");
    }
    out.a[place] = exact_encoding(without_parentheses(term.substr(0, stars[0])), types.a);
    out.b[place] = exact_encoding(without_parentheses(term.substr(stars[0] + 1)), types.b);
    ++place;
  }
  return out;
}

}  // namespace binade
