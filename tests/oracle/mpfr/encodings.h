// SPDX-License-Identifier: Apache-2.0
//
// Encodings of a format that are worth testing: its edges, the neighbours of a number, and the
// results near which rounding changes. All functions take and return encodings as they are in a
// container.
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

  // Encodings at which something changes. few_edges() and edges() have no sign; signed_edges() has
  // both.
  std::vector<std::uint64_t> few_edges() const;
  std::vector<std::uint64_t> edges() const;
  std::vector<std::uint64_t> signed_edges() const;

  Number value(std::uint64_t container) const;
  // Returns the encoding of the nearest finite number.
  std::uint64_t nearest(const Number& number) const;
  // Returns the encoding `steps` places further.
  std::uint64_t step(std::uint64_t container, std::int64_t steps) const;
  std::uint64_t negated(std::uint64_t container) const;
  // Returns the encodings nearest to the number and those beside them.
  std::vector<std::uint64_t> around(const Number& number) const;

  // Returns results at which rounding, tininess and overflow change.
  std::vector<Number> thresholds() const;
  // Returns 2^(exponent of the last bit of `number` + shift), where `number` has the format's
  // precision.
  Number quantum_of(const Number& number, int shift) const;

 private:
  const Format& format_;
};

// Arithmetic of ample_precision by which operands are found; it need not be exact.
Number power_of_two(mpfr_exp_t exponent);
Number product(const Number& x, const Number& y);
Number quotient(const Number& x, const Number& y);
Number sum(const Number& x, const Number& y);

}  // namespace mpfr_oracle
