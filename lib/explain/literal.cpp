// SPDX-License-Identifier: Apache-2.0
//
// Reads literals. Every factor of a product is digits · 10^k or digits · 2^k; nothing is rounded.
#include "lib/explain/literal.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Reads from the front of a text, and keeps the whole text for error messages.
struct Reader {
  std::string_view whole;
  std::string_view rest;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("value '" + printable(whole) + "': " + what);
  }
  bool take(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  bool take_either(char a, char b) { return take(a) || take(b); }
  void skip_spaces() {
    while (take(' ')) {
    }
  }
  /// Removes the longest run of digits of a base from the front, and returns it.
  std::string_view take_digits(int base) {
    const auto is_digit = [base](char c) {
      if (c >= '0' && c <= '9') return c - '0' < base;
      return base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
    };
    const auto n =
        static_cast<std::size_t>(std::ranges::find_if_not(rest, is_digit) - rest.begin());
    const std::string_view digits = rest.substr(0, n);
    rest.remove_prefix(n);
    return digits;
  }
  /// Reads a whole number with an optional sign, at most `limit` in magnitude.
  int take_exponent(int limit) {
    const bool negative = !take('+') && take('-');
    const std::string_view digits = take_digits(10);
    if (digits.empty()) fail("a whole number should follow where an exponent begins");
    int value = 0;
    for (const char c : digits) {
      value = 10 * value + (c - '0');
      if (value > limit) {
        fail("an exponent beyond " + std::to_string(limit) + "; no format reaches that far");
      }
    }
    return negative ? -value : value;
  }
};

int value_of_digit(char c) {
  if (c <= '9') return c - '0';
  return (c | 0x20) - 'a' + 10;
}

/// The whole and the fractional digits of a number, joined, and how many of them are fractional.
struct Number {
  std::string digits;
  int fractional = 0;
};

Number take_number(Reader& in, int base) {
  Number out{std::string(in.take_digits(base)), 0};
  if (in.take('.')) {
    const std::string_view fraction = in.take_digits(base);
    out.digits += fraction;
    if (out.digits.size() <= max_digits) out.fractional = static_cast<int>(fraction.size());
  }
  if (out.digits.empty()) {
    in.fail("not a number; write 0.1, 1e-8, 0x1.8p-3, 2^-25, 3*2^-26, inf, nan or bits:0x3c00");
  }
  if (out.digits.size() > max_digits) {
    in.fail("more than " + std::to_string(max_digits) + " digits");
  }
  return out;
}

Decimal take_hexadecimal(Reader& in) {
  const Number number = take_number(in, 16);
  if (!in.take_either('p', 'P')) {
    in.fail(
        "a hexadecimal number needs its power of two, as in 0x1.8p-3; an encoding is written "
        "bits:0x3c00");
  }
  const int exponent = in.take_exponent(max_binary_exponent) - 4 * number.fractional;
  Decimal out;
  for (const char c : number.digits) {
    out = out * Decimal{{16}, 0, 0};
    const auto digit = static_cast<std::uint64_t>(value_of_digit(c));
    if (digit != 0) {  // after the multiplication by 16 the lowest word ends in four zero bits
      if (out.integer.empty()) out.integer.push_back(0);
      out.integer[0] |= static_cast<std::uint32_t>(digit);
    }
  }
  return scaled(out, exponent);
}

Decimal take_factor(Reader& in) {
  in.skip_spaces();
  if (in.rest.starts_with("2^")) {
    in.rest.remove_prefix(2);
    return decimal_of(Dyadic{1, in.take_exponent(max_binary_exponent)});
  }
  if (in.rest.starts_with("0x") || in.rest.starts_with("0X")) {
    in.rest.remove_prefix(2);
    return take_hexadecimal(in);
  }
  const Number number = take_number(in, 10);
  const int exponent = in.take_either('e', 'E') ? in.take_exponent(max_decimal_exponent) : 0;
  if (in.rest.starts_with('^')) in.fail("powers are powers of two, as in 2^-25");
  if (in.rest.starts_with('/')) {
    in.fail("a quotient has no finite digits in general; write the decimal digits you mean");
  }
  return decimal_of(number.digits, exponent - number.fractional);
}

Decimal take_product(Reader& in) {
  Decimal product = take_factor(in);
  for (in.skip_spaces(); in.take('*'); in.skip_spaces()) {
    product = product * take_factor(in);
    if (std::abs(product.twos) > 2 * max_binary_exponent ||
        std::abs(product.fives) > 2 * max_decimal_exponent) {
      in.fail("the product's exponent is out of reach of every format");
    }
  }
  if (!in.rest.empty()) in.fail("'" + printable(in.rest) + "' is left over after a number");
  return product;
}

/// "0x3c00" or "0b0_01111_0000000000"
std::uint64_t encoding_bits(Reader in) {
  const int base = in.rest.starts_with("0x") ? 16 : in.rest.starts_with("0b") ? 2 : 0;
  if (base == 0) in.fail("an encoding is written 0x3c00 or 0b0_01111_0000000000");
  in.rest.remove_prefix(2);
  std::uint64_t bits = 0;
  std::size_t digits = 0;
  for (const char c : in.rest) {
    if (c == '_' || c == ' ') continue;
    const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!(letter || (c >= '0' && c <= '9')) || value_of_digit(c) >= base) {
      in.fail("'" + printable(std::string_view(&c, 1)) + "' is no digit of base " +
              std::to_string(base));
    }
    const auto radix = static_cast<std::uint64_t>(base);
    if (bits > (~std::uint64_t{0}) / radix) in.fail("more than 64 bits");
    bits = bits * radix + static_cast<std::uint64_t>(value_of_digit(c));
    ++digits;
  }
  if (digits == 0) in.fail("no digits after " + std::string(base == 16 ? "0x" : "0b"));
  return bits;
}

void require_width(std::uint64_t bits, const NamedOrCustom& f, const Reader& in) {
  const int width = f.format.bits() + f.format.padding_bits;
  if (width < 64 && bits >> width != 0) {
    in.fail("more than the " + std::to_string(width) + " bits of " + f.name);
  }
}

/// "FORMAT:0x…", where FORMAT may hold colons itself.
Literal encoding_literal(std::string_view text, std::size_t colon) {
  const Reader in{text, text.substr(colon + 1)};
  const std::string_view format = text.substr(0, colon);
  Literal out{.text = printable(text)};
  out.encoding = Literal::Encoding{encoding_bits(in), std::nullopt};
  if (format == "bits") return out;
  out.encoding->format = parse_format(format);
  const Format& f = out.encoding->format->format;
  require_width(out.encoding->bits, *out.encoding->format, in);
  out.special = decode(out.encoding->bits, f);
  out.kind = out.special.kind;
  out.negative = out.special.negative;
  if (out.kind == Kind::finite) {
    out.magnitude = decimal_of(
        Dyadic{static_cast<std::uint64_t>(out.special.significand), out.special.exponent});
  }
  return out;
}

}  // namespace

const char* const literal_help =
    "A value is read exactly, however many digits it has:\n"
    "  0.1  1e-8  -65520        decimal\n"
    "  0x1.8p-3                 hexadecimal\n"
    "  2^-25  '3*2^-26'         powers of two and products\n"
    "  inf  nan  snan           specials\n"
    "  bits:0x3c00  bits:0b0_01111_0000000000\n"
    "                           an encoding of the format itself\n"
    "  binary32:0x3dcccccd      an encoding of another format, rounded to this one";

Literal parse_literal(std::string_view text) {
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    return encoding_literal(text, colon);
  }
  Reader in{text, text};
  if (text.size() > 2 * max_digits)
    in.fail("too long: " + std::to_string(text.size()) + " characters");
  Literal out{.text = printable(text)};
  out.negative = !in.take('+') && in.take('-');
  const std::string word = lower_case(in.rest);
  if (word == "inf" || word == "infinity") {
    out.kind = Kind::infinite;
  } else if (word == "nan" || word == "snan") {
    out.kind = Kind::nan;
  } else {
    out.magnitude = take_product(in);
    out.kind = out.magnitude.is_zero() ? Kind::zero : Kind::finite;
  }
  const bool signaling = word == "snan";
  out.special = {.kind = out.kind, .negative = out.negative, .signaling = signaling};
  if (out.kind == Kind::nan) out.special.significand = uint128{1} << (signaling ? 62 : 63);
  return out;
}

Exact operand_of(const Literal& literal) {
  return literal.kind == Kind::finite ? to_exact(literal.magnitude, literal.negative)
                                      : literal.special;
}

}  // namespace binade
