// SPDX-License-Identifier: Apache-2.0
//
// The rules of rounding as they are written: IEEE 754-2019 clauses 4.3, 6.2, 7.4 and 7.5, and the
// project's choices where IEEE 754 is silent (formats without Inf, NaN, zero or sign).
#include "tests/oracle/oracle.h"

#include "tests/oracle/dyadic.h"

namespace oracle {
namespace {

/// Returns floor(f 2^n), where f = (x - below) / (above - below); the gap is a power of two.
Integer scaled_fraction(const Dyadic& x, const Around& around, int n) {
  const int gap = exponent_of(subtract(around.above.value, around.below.value));
  bool exact = false;
  return floor_at(subtract(x, around.below.value), gap - n, exact);
}

/// Returns whether an x that is not on the grid is rounded to the neighbour above it.
bool takes_above(const Dyadic& x, const Around& around, bool negative, const Rules& rules,
                 const Spec& spec, std::uint32_t random) {
  if (around.below.code == around.above.code) return false;  // beyond the grid
  // With one digit all numbers but zero are odd: of two odd neighbours a tie takes the larger, and
  // rounding to odd the smaller, which is odd already.
  const bool both_odd = spec.precision == 1 && around.below.value.n != 0;
  const bool above_is_odd = around.above.code % 2 != 0;
  switch (rules.way) {
    case Way::to_zero: return false;
    case Way::up: return !negative;
    case Way::down: return negative;
    case Way::odd: return spec.precision == 1 ? !both_odd : above_is_odd;
    case Way::random: {
      const Integer one = Integer(1) << static_cast<unsigned>(rules.random_bits);
      return scaled_fraction(x, around, rules.random_bits) + Integer(random) % one >= one;
    }
    case Way::nearest_even:
    case Way::nearest_away:
    case Way::nearest_zero: {
      Dyadic twice = x;
      twice.n *= 2;
      const int side = compare(twice, add(around.below.value, around.above.value));
      if (side != 0) return side > 0;
      if (rules.way == Way::nearest_zero) return false;
      if (rules.way == Way::nearest_away || both_odd) return true;
      return spec.precision > 1 && !above_is_odd;
    }
  }
  return false;
}

std::uint64_t assemble(std::uint64_t code, bool negative, const Spec& spec) {
  const std::uint64_t sign = negative && spec.sign ? 1 : 0;
  return (sign << (spec.exponent_bits + spec.precision - 1) | code) << spec.padding;
}

std::uint64_t infinity_code(const Spec& spec) {
  return ((std::uint64_t{1} << spec.exponent_bits) - 1) << (spec.precision - 1);
}

std::uint64_t zero_code(bool negative, const Spec& spec) {
  return assemble(0, negative && spec.codes != Codes::fnuz, spec);
}

std::uint64_t nan(const Value& operand, const Rules& rules, const Spec& spec) {
  const bool keep = rules.nan == Nan::keep;
  const int fraction_bits = spec.precision - 1;
  const std::uint64_t ones = (std::uint64_t{1} << fraction_bits) - 1;
  switch (spec.codes) {
    case Codes::fnuz: return assemble(0, true, spec);
    case Codes::one_nan:
      return assemble(infinity_code(spec) | ones, keep && operand.negative, spec);
    default: break;
  }
  const std::uint64_t quiet_bit = (ones >> 1) + 1;
  const std::uint64_t payload = keep ? operand.low >> (64 - fraction_bits) : 0;
  const std::uint64_t fraction = rules.nan == Nan::all_ones ? ones : quiet_bit | payload;
  return assemble(infinity_code(spec) | fraction, keep && operand.negative, spec);
}

/// Returns the code of a result beyond every finite number: Inf, or what the format or the rules
/// have in its place.
std::uint64_t beyond(const Value& operand, bool negative, const Rules& rules, const Spec& spec,
                     std::uint64_t max_code) {
  if (rules.saturate || spec.codes == Codes::all_numbers) return assemble(max_code, negative, spec);
  if (spec.codes == Codes::ieee) return assemble(infinity_code(spec), negative, spec);
  const std::uint64_t code = nan(operand, rules, spec);
  // cuda_fp8.hpp: the code of NaN, then the operand's sign.
  const bool signs = rules.nan == Nan::all_ones && spec.codes == Codes::one_nan;
  return signs ? code | assemble(0, negative, spec) : code;
}

bool overflow_stays_finite(Way way, bool negative) {
  return way == Way::to_zero || way == Way::odd || (way == Way::up && negative) ||
         (way == Way::down && !negative);
}

}  // namespace

Oracle::Oracle(const Spec& spec, Method method)
    : spec_(spec), neighbours_(method == Method::table ? listed(spec) : divided(spec)) {}
Oracle::Oracle(Oracle&&) noexcept = default;
Oracle::~Oracle() = default;

Outcome Oracle::round(const Value& value, const Rules& rules, std::uint32_t random) const {
  const auto max_code = static_cast<std::uint64_t>(neighbours_->last().code - 1);
  const bool negative = spec_.sign && value.negative;
  Outcome out;
  if (value.kind == Kind::nan) {
    out.invalid = value.signaling || spec_.codes == Codes::all_numbers;
    out.bits = spec_.codes == Codes::all_numbers ? assemble(max_code, false, spec_)
                                                 : nan(value, rules, spec_);
    return out;
  }
  if (value.kind == Kind::infinity) {
    out.bits = beyond(value, negative, rules, spec_, max_code);
    return out;
  }
  if (is_zero(value)) {
    out.bits = zero_code(negative, spec_);
    out.inexact = out.underflow = !spec_.zero;
    return out;
  }

  const Dyadic x = magnitude(value);
  const Dyadic min_normal{Integer(1), (spec_.zero ? 1 : 0) - spec_.bias};
  bool tiny = compare(x, min_normal) < 0;
  if (tiny && !rules.tiny_before) {
    const Around at = around_unbounded(x, spec_);
    const bool above = !at.exact && takes_above(x, at, negative, rules, spec_, random);
    tiny = compare((above ? at.above : at.below).value, min_normal) < 0;
  }
  if (tiny && (rules.flush_results || !spec_.zero)) {
    out.inexact = out.underflow = true;
    out.bits = zero_code(negative, spec_);
    return out;
  }
  if (compare(x, neighbours_->first().value) < 0) {
    out.inexact = true;
    out.bits = assemble(0, negative, spec_);
    return out;
  }

  const Around at = neighbours_->around(x);
  const bool above = !at.exact && takes_above(x, at, negative, rules, spec_, random);
  const Point& chosen = above ? at.above : at.below;
  out.overflow = chosen.code > neighbours_->last().code - 1;
  out.inexact = !at.exact || out.overflow;
  out.underflow = tiny && out.inexact;
  const auto code = static_cast<std::uint64_t>(chosen.code);
  out.bits = !out.overflow
                 ? chosen.code == 0 ? zero_code(negative, spec_) : assemble(code, negative, spec_)
             : overflow_stays_finite(rules.way, negative)
                 ? assemble(max_code, negative, spec_)
                 : beyond(value, negative, rules, spec_, max_code);
  return out;
}

}  // namespace oracle
