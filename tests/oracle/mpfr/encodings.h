// SPDX-License-Identifier: Apache-2.0
//
// The encodings of a format about a given number: its edges, its neighbours, what rounds to it.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/oracle/mpfr/rounding.h"

namespace mpfr_oracle {

// Enough for the exact product of two numbers of any format, and for the targets below.
constexpr mpfr_prec_t ample_precision = 128;

class Encodings {
 public:
  explicit Encodings(const Format& format) : format_(format) {}

  // Without signs, then with both.
  std::vector<std::uint64_t> few_edges() const;
  std::vector<std::uint64_t> edges() const;
  std::vector<std::uint64_t> signed_edges() const;

  Number value(std::uint64_t container) const;
  // The nearest finite number.
  std::uint64_t nearest(const Number& number) const;
  // `steps` encodings further.
  std::uint64_t step(std::uint64_t container, std::int64_t steps) const;
  std::uint64_t negated(std::uint64_t container) const;
  // The nearest numbers and the encodings beside them.
  std::vector<std::uint64_t> around(const Number& number) const;

  // Results at which rounding, tininess and overflow change.
  std::vector<Number> thresholds() const;
  // 2^(exponent of the last bit of `number` + shift) in the format's precision.
  Number quantum_of(const Number& number, int shift) const;

 private:
  const Format& format_;
};

// Ample-precision arithmetic on the way to an operand; it need not be exact.
Number power_of_two(mpfr_exp_t exponent);
Number product(const Number& x, const Number& y);
Number quotient(const Number& x, const Number& y);
Number sum(const Number& x, const Number& y);

}  // namespace mpfr_oracle
