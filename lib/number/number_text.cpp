// SPDX-License-Identifier: Apache-2.0
//
// Prints numbers from their exact digits; no formatting of doubles is involved.
#include "lib/number/number_text.h"

#include <bit>
#include <cstdint>

#include <fmt/format.h>

namespace binade {
namespace {

/// Returns d.ddd · 10^exponent in the form that C's %g would choose with unlimited precision.
std::string laid_out(const Digits& x) {
  const int n = static_cast<int>(x.digits.size());
  const std::string& d = x.digits;
  if (x.exponent < -4 || x.exponent > 20) {
    const std::string point = n > 1 ? "." + d.substr(1) : "";
    return fmt::format("{}{}e{}{:02}", d[0], point, x.exponent < 0 ? '-' : '+',
                       x.exponent < 0 ? -x.exponent : x.exponent);
  }
  if (x.exponent < 0) return "0." + std::string(static_cast<std::size_t>(-x.exponent - 1), '0') + d;
  const int whole = x.exponent + 1;
  if (n <= whole) return d + std::string(static_cast<std::size_t>(whole - n), '0');
  return d.substr(0, static_cast<std::size_t>(whole)) + "." +
         d.substr(static_cast<std::size_t>(whole));
}

Digits rounded(Digits x, std::size_t n) {
  if (x.digits.size() <= n) {
    x.digits.append(n - x.digits.size(), '0');
    return x;
  }
  const bool odd = ((x.digits[n - 1] - '0') & 1) != 0;
  const bool tie = x.digits[n] == '5' && x.digits.size() == n + 1;
  bool carry = x.digits[n] >= '5' && (!tie || odd);
  x.digits.resize(n);
  for (std::size_t i = n; carry && i-- > 0;) {
    carry = x.digits[i] == '9';
    x.digits[i] = carry ? '0' : static_cast<char>(x.digits[i] + 1);
  }
  if (carry) {
    x.digits.insert(x.digits.begin(), '1');
    x.digits.pop_back();
    x.exponent += 1;
  }
  return x;
}

}  // namespace

std::string exact_text(const Decimal& x) { return laid_out(digits_of(x)); }

std::string short_text(const Decimal& x, std::size_t digits) {
  return x.is_zero() ? "0" : laid_out(rounded(digits_of(x), digits));
}

std::string concise_text(const Decimal& x, std::size_t longest) {
  const Digits d = digits_of(x);
  return d.digits.size() <= longest ? laid_out(d) : "about " + laid_out(rounded(d, 4));
}

std::string ulps_text(const Decimal& x) {
  const Digits d = digits_of(x);
  if (d.digits.size() <= 6 && d.exponent >= -6) return laid_out(d);
  for (const auto& [value, name] :
       {std::pair{Dyadic{1, -1}, "0.5"}, std::pair{Dyadic{1, 0}, "1"}}) {
    const Decimal special = decimal_of(value);
    if (digits_of(distance(x, special)).exponent < -4) {
      return fmt::format("just {} {}", x < special ? "below" : "above", name);
    }
  }
  return "about " + laid_out(rounded(d, 4));
}

std::string formula_text(const Dyadic& x) {
  if (x.significand == 0) return "0";
  const int zeros = std::countr_zero(x.significand);
  const std::uint64_t odd = x.significand >> zeros;
  const int exponent = x.exponent + zeros;
  if (odd == 1) return fmt::format("2^{}", exponent);
  const int width = bit_width(odd);
  if (width > 3 && std::has_single_bit(odd + 1)) {
    return fmt::format("(2-2^{})*2^{}", 1 - width, exponent + width - 1);
  }
  return fmt::format("{}*2^{}", odd, exponent);
}

std::string grid_text(const Dyadic& x) {
  std::string digits = exact_text(decimal_of(x));
  if (digits.find('e') == std::string::npos && digits.size() <= 60) return digits;
  if (std::has_single_bit(x.significand)) return formula_text(x);
  if (digits.size() <= 24) return digits;
  const std::string formula = formula_text(x);
  return formula.size() <= 16 ? formula : hex_text(x);
}

std::string hex_text(const Dyadic& x) {
  if (x.significand == 0) return "0x0p+0";
  const int width = bit_width(x.significand);
  const std::uint64_t fraction = width > 1 ? x.significand << (65 - width) : 0;
  std::string digits = fmt::format("{:016x}", fraction);
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return fmt::format("0x1{}{}p{:+}", digits.empty() ? "" : ".", digits, x.exponent + width - 1);
}

}  // namespace binade
