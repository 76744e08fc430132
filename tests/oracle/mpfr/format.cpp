// SPDX-License-Identifier: Apache-2.0
//
// The table of formats, and encodings read and written through MPFR's own conversions.
#include "tests/oracle/mpfr/format.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace mpfr_oracle {
namespace {

constexpr Format format_table[] = {
    {"f16", 5, 11, 15, Specials::ieee, 16, 0},    {"f32", 8, 24, 127, Specials::ieee, 32, 0},
    {"f64", 11, 53, 1023, Specials::ieee, 64, 0}, {"bf16", 8, 8, 127, Specials::ieee, 16, 0},
    {"tf32", 8, 11, 127, Specials::ieee, 32, 13}, {"e5m2", 5, 3, 15, Specials::ieee, 8, 0},
    {"e4m3", 4, 4, 7, Specials::one_nan, 8, 0},   {"e3m2", 3, 3, 3, Specials::none, 8, 0},
    {"e2m3", 2, 4, 1, Specials::none, 8, 0},      {"e2m1", 2, 2, 1, Specials::none, 8, 0},
};

bool is_nan(const Format& format, std::uint64_t magnitude) {
  if (format.specials == Specials::ieee) return magnitude > format.infinity();
  return format.specials == Specials::one_nan && magnitude == format.nan();
}

bool is_signaling(const Format& format, std::uint64_t magnitude) {
  const std::uint64_t quiet_bit = std::uint64_t{1} << (format.fraction_bits() - 1);
  return format.specials == Specials::ieee && is_nan(format, magnitude) &&
         (magnitude & quiet_bit) == 0;
}

void set_finite(const Format& format, std::uint64_t magnitude, mpfr_ptr value) {
  const std::uint64_t fraction = magnitude & format.fraction_mask();
  const auto exponent = static_cast<mpfr_exp_t>(magnitude >> format.fraction_bits());
  const std::uint64_t hidden = exponent == 0 ? 0 : format.fraction_mask() + 1;
  const mpfr_exp_t above_least = exponent == 0 ? 0 : exponent - 1;
  mpfr_set_uj_2exp(value, fraction | hidden, format.quantum_exponent() + above_least, MPFR_RNDN);
}

std::uint64_t encode_finite(const Format& format, mpfr_srcptr value) {
  if (mpfr_zero_p(value) != 0) return 0;
  const auto exponent = std::max<mpfr_exp_t>(mpfr_get_exp(value) - 1, format.least_exponent());
  Number scaled(format.precision);
  const int inexact =
      mpfr_mul_2si(scaled.get(), value, format.fraction_bits() - exponent, MPFR_RNDN);
  mpfr_abs(scaled.get(), scaled.get(), MPFR_RNDN);
  if (inexact != 0 || mpfr_integer_p(scaled.get()) == 0 || exponent > format.greatest_exponent()) {
    throw std::logic_error(std::string("not a number of ") + format.name);
  }
  // The hidden bit of a normal number adds 1 to the exponent field, which is 1 larger than this.
  const auto above_least = static_cast<std::uint64_t>(exponent - format.least_exponent());
  return (above_least << format.fraction_bits()) + mpfr_get_uj(scaled.get(), MPFR_RNDN);
}

}  // namespace

int Format::greatest_exponent() const {
  const int top = (1 << exponent_bits) - 1 - bias;
  return specials == Specials::ieee ? top - 1 : top;
}

std::uint64_t Format::infinity() const {
  return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits();
}

std::uint64_t Format::largest_finite() const {
  if (specials == Specials::ieee) return infinity() - 1;
  return specials == Specials::one_nan ? sign_bit() - 2 : sign_bit() - 1;
}

std::uint64_t Format::nan() const {
  if (specials != Specials::ieee) return sign_bit() - 1;
  return infinity() | (std::uint64_t{1} << (fraction_bits() - 1));
}

std::span<const Format> formats() { return format_table; }

Operand decode(const Format& format, std::uint64_t container) {
  const std::uint64_t encoding = container >> format.shift;
  const std::uint64_t magnitude = encoding & (format.sign_bit() - 1);
  Operand operand{Number(format.precision), is_nan(format, magnitude),
                  is_signaling(format, magnitude)};
  mpfr_ptr value = operand.value.get();
  if (operand.nan) {
    mpfr_set_nan(value);
  } else if (format.has_infinity() && magnitude == format.infinity()) {
    mpfr_set_inf(value, 1);
  } else {
    set_finite(format, magnitude, value);
  }
  if ((encoding & format.sign_bit()) != 0) mpfr_setsign(value, value, 1, MPFR_RNDN);
  return operand;
}

std::uint64_t encode(const Format& format, mpfr_srcptr value) {
  if (mpfr_nan_p(value) != 0) return format.nan() << format.shift;
  const std::uint64_t sign = mpfr_signbit(value) != 0 ? format.sign_bit() : 0;
  const std::uint64_t magnitude =
      mpfr_inf_p(value) != 0 ? format.infinity() : encode_finite(format, value);
  return (sign | magnitude) << format.shift;
}

Number largest_finite(const Format& format) {
  return decode(format, format.largest_finite() << format.shift).value;
}

}  // namespace mpfr_oracle
