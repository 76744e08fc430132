// SPDX-License-Identifier: Apache-2.0
//
// Encodings are found by stepping through them as integers and by rounding into the format.
#include "tests/oracle/mpfr/encodings.h"

#include <algorithm>

namespace mpfr_oracle {
namespace {

using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

Number compute(Binary operation, const Number& x, const Number& y) {
  Number result(ample_precision);
  operation(result.get(), x.get(), y.get(), MPFR_RNDN);
  return result;
}

std::vector<std::uint64_t> in_containers(std::vector<std::uint64_t> encodings,
                                         const Format& format) {
  for (std::uint64_t& encoding : encodings) {
    encoding = (encoding & (format.sign_bit() - 1)) << format.shift;
  }
  std::sort(encodings.begin(), encodings.end());
  encodings.erase(std::unique(encodings.begin(), encodings.end()), encodings.end());
  return encodings;
}

}  // namespace

std::vector<std::uint64_t> Encodings::few_edges() const {
  const std::uint64_t least_normal = format_.fraction_mask() + 1;
  const std::uint64_t one = static_cast<std::uint64_t>(format_.bias) << format_.fraction_bits();
  std::vector<std::uint64_t> found = {0,   1,       least_normal - 1,        least_normal,
                                      one, one + 1, format_.largest_finite()};
  if (format_.has_infinity())
    found.insert(found.end(), {format_.infinity(), format_.infinity() + 1});
  if (format_.has_nan()) found.push_back(format_.nan());
  return in_containers(found, format_);
}

std::vector<std::uint64_t> Encodings::edges() const {
  const std::uint64_t least_normal = format_.fraction_mask() + 1;
  const std::uint64_t one = static_cast<std::uint64_t>(format_.bias) << format_.fraction_bits();
  const std::uint64_t largest = format_.largest_finite();
  std::vector<std::uint64_t> found = {0,
                                      1,
                                      2,
                                      least_normal - 1,
                                      least_normal,
                                      least_normal + 1,
                                      one - 1,
                                      one,
                                      one + 1,
                                      one - least_normal,
                                      one + least_normal / 2,
                                      one + least_normal,
                                      one + least_normal - 1,
                                      largest - 1,
                                      largest,
                                      largest & ~format_.fraction_mask()};
  if (format_.has_infinity()) {
    const std::uint64_t infinity = format_.infinity();
    const std::uint64_t quiet = format_.nan();
    found.insert(found.end(), {infinity, infinity + 1, quiet - 1, quiet, quiet + 1,
                               infinity + format_.fraction_mask()});
  } else {
    found.push_back(format_.nan());
  }
  return in_containers(found, format_);
}

std::vector<std::uint64_t> Encodings::signed_edges() const {
  std::vector<std::uint64_t> found;
  for (const std::uint64_t edge : edges()) found.insert(found.end(), {edge, negated(edge)});
  return found;
}

Number Encodings::value(std::uint64_t container) const { return decode(format_, container).value; }

std::uint64_t Encodings::nearest(const Number& number) const {
  const Environment environment{Rounding::near_even, false, false, true};
  return deliver(format_, environment,
                 [&](mpfr_ptr result, mpfr_rnd_t direction) {
                   return mpfr_set(result, number.get(), direction);
                 })
      .bits;
}

std::uint64_t Encodings::step(std::uint64_t container, std::int64_t steps) const {
  const std::uint64_t mask = format_.sign_bit() | (format_.sign_bit() - 1);
  const std::uint64_t encoding = container >> format_.shift;
  return ((encoding + static_cast<std::uint64_t>(steps)) & mask) << format_.shift;
}

std::uint64_t Encodings::negated(std::uint64_t container) const {
  return container ^ (format_.sign_bit() << format_.shift);
}

std::vector<std::uint64_t> Encodings::around(const Number& number) const {
  const std::uint64_t middle = nearest(number);
  return {step(middle, -1), middle, step(middle, 1)};
}

std::vector<Number> Encodings::thresholds() const {
  const mpfr_exp_t quantum = format_.quantum_exponent();
  const Number least_normal = power_of_two(format_.least_exponent());
  const Number largest = largest_finite(format_);
  std::vector<Number> found = {least_normal};
  // Just below the least normal number: a quarter, a half, ... of the distance to its neighbour at
  // full precision, and the same at half that, where tininess before and after rounding differ.
  for (const double part : {-0.125, -0.25, -0.375, -0.5, -0.75, -1.0, -1.5}) {
    found.push_back(sum(least_normal, product(power_of_two(quantum), Number(53, part))));
  }
  for (const double quanta : {0.25, 0.5, 0.75, 1.0, 1.5, 2.5}) {
    found.push_back(product(power_of_two(quantum), Number(53, quanta)));
  }
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    found.push_back(sum(largest, product(quantum_of(largest, 0), Number(53, part))));
  }
  return found;
}

Number Encodings::quantum_of(const Number& number, int shift) const {
  if (mpfr_regular_p(number.get()) == 0) return power_of_two(format_.quantum_exponent() + shift);
  const mpfr_exp_t least = format_.quantum_exponent();
  return power_of_two(std::max(mpfr_get_exp(number.get()) - format_.precision, least) + shift);
}

Number power_of_two(mpfr_exp_t exponent) {
  Number power(ample_precision);
  mpfr_set_ui_2exp(power.get(), 1, exponent, MPFR_RNDN);
  return power;
}

Number product(const Number& x, const Number& y) { return compute(mpfr_mul, x, y); }
Number quotient(const Number& x, const Number& y) { return compute(mpfr_div, x, y); }
Number sum(const Number& x, const Number& y) { return compute(mpfr_add, x, y); }

}  // namespace mpfr_oracle
