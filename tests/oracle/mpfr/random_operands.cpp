// SPDX-License-Identifier: Apache-2.0
//
// The methods of drawing an operand, and a table of how often each is used.
#include "tests/oracle/mpfr/random_operands.h"

#include <algorithm>
#include <array>

namespace mpfr_oracle {
namespace {

std::uint64_t low_mask(int bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

// Only the lowest bit of the sign counts; the exponent field is held within its range. Draws in
// braces come in the order written, where arguments have none.
struct Fields {
  std::uint64_t sign;
  std::int64_t exponent;
  std::uint64_t fraction;
};

std::uint64_t join(const Format& format, const Fields& fields) {
  const std::int64_t top = (std::int64_t{1} << format.exponent_bits) - 1;
  const auto field = static_cast<std::uint64_t>(std::clamp<std::int64_t>(fields.exponent, 0, top));
  const std::uint64_t magnitude =
      (field << format.fraction_bits()) | (fields.fraction & format.fraction_mask());
  const bool negative = (fields.sign & 1) != 0;
  return (negative ? format.sign_bit() | magnitude : magnitude) << format.shift;
}

std::int64_t exponent_field(const Format& format, std::uint64_t container) {
  const std::uint64_t magnitude = (container >> format.shift) & (format.sign_bit() - 1);
  return static_cast<std::int64_t>(magnitude >> format.fraction_bits());
}

// Returns a random integer from -reach to +reach.
std::int64_t offset(Engine& engine, int reach) {
  return static_cast<std::int64_t>(below(engine, static_cast<std::uint64_t>(2 * reach + 1))) -
         reach;
}

std::uint64_t uniform(const Format& format, std::uint64_t, Engine& engine) {
  return (engine() & low_mask(format.bits())) << format.shift;
}

std::uint64_t uniform_near_bias(const Format& format, std::uint64_t, Engine& engine) {
  return join(format, {engine(), format.bias + offset(engine, 3), engine()});
}

std::uint64_t few_bits_near_bias(const Format& format, std::uint64_t, Engine& engine) {
  return join(format, {engine(), format.bias + offset(engine, format.precision + 2),
                       few_bits(engine, format.fraction_bits())});
}

std::uint64_t few_bits_anywhere(const Format& format, std::uint64_t, Engine& engine) {
  return join(format,
              {engine(), static_cast<std::int64_t>(engine() & low_mask(format.exponent_bits)),
               few_bits(engine, format.fraction_bits())});
}

std::uint64_t special_exponent(const Format& format, std::uint64_t, Engine& engine) {
  const auto field = static_cast<std::int64_t>(below(engine, 3));
  const std::int64_t top = static_cast<std::int64_t>(low_mask(format.exponent_bits));
  const std::uint64_t fraction =
      (engine() & 1) != 0 ? engine() : few_bits(engine, format.fraction_bits());
  return join(format, {engine(), (engine() & 1) != 0 ? field : top - field, fraction});
}

std::uint64_t near_previous_exponent(const Format& format, std::uint64_t previous, Engine& engine) {
  const std::int64_t field =
      exponent_field(format, previous) + offset(engine, format.precision + 3);
  const std::uint64_t fraction =
      (engine() & 1) != 0 ? engine() : few_bits(engine, format.fraction_bits());
  return join(format, {engine(), field, fraction});
}

// Returns an exponent with which the product with the previous operand is near the least or the
// greatest number.
std::uint64_t mirrored_exponent(const Format& format, std::uint64_t previous, Engine& engine) {
  const int edge = (engine() & 1) != 0 ? format.least_exponent() : format.greatest_exponent();
  const std::int64_t field = edge + 2 * format.bias - exponent_field(format, previous);
  return join(format, {engine(), field + offset(engine, 2), engine()});
}

std::uint64_t next_to_previous(const Format& format, std::uint64_t previous, Engine& engine) {
  const auto steps = static_cast<std::uint64_t>(offset(engine, 2));
  const std::uint64_t encoding = (previous >> format.shift) + steps;
  const std::uint64_t sign = (engine() & 1) != 0 ? format.sign_bit() : 0;
  return ((encoding ^ sign) & low_mask(format.bits())) << format.shift;
}

constexpr std::array draws = {
    uniform,
    uniform,
    uniform,
    uniform_near_bias,
    few_bits_near_bias,
    few_bits_anywhere,
    special_exponent,
    near_previous_exponent,
    near_previous_exponent,
    mirrored_exponent,
    next_to_previous,
};

std::uint64_t random_integer(const Integer& integer, Engine& engine) {
  const std::uint64_t sparse = (engine() & 1) != 0 ? engine() : few_bits(engine, integer.bits);
  const std::uint64_t mask = low_mask(integer.bits);
  const std::uint64_t magnitude =
      (sparse & mask) >> below(engine, static_cast<std::uint64_t>(integer.bits));
  return ((engine() & 1) != 0 ? magnitude : std::uint64_t{0} - magnitude) & mask;
}

}  // namespace

std::uint64_t below(Engine& engine, std::uint64_t bound) { return engine() % bound; }

std::uint64_t few_bits(Engine& engine, int bits) {
  const auto width = static_cast<std::uint64_t>(bits + 1);
  const std::uint64_t mask = low_mask(bits);
  const std::uint64_t ones = low_mask(static_cast<int>(below(engine, width)));
  const std::uint64_t single = std::uint64_t{1} << (below(engine, width) & 63);
  switch (below(engine, 4)) {
    case 0: return ones & mask;
    case 1: return ~ones & mask;
    case 2: return (ones ^ single) & mask;
    default: return (~ones ^ single) & mask;
  }
}

std::uint64_t moderate_operand(const Format& format, Engine& engine) {
  const int reach = 1 << (format.exponent_bits - 2);
  const std::int64_t field = std::max<std::int64_t>(format.bias + offset(engine, reach), 1);
  const std::uint64_t fraction =
      (engine() & 1) != 0 ? engine() : few_bits(engine, format.fraction_bits());
  return join(format, {engine(), field, fraction});
}

std::uint64_t short_operand(const Format& format, int significant, Engine& engine) {
  const int zeros = std::max(format.precision - significant, 0);
  const int reach = std::min(format.bias - 1, 8);
  return join(format, {engine(), format.bias + offset(engine, reach), engine() << zeros});
}

std::uint64_t random_operand(const Kind& kind, std::uint64_t previous, Engine& engine) {
  if (kind.integer != nullptr) return random_integer(*kind.integer, engine);
  return draws[below(engine, draws.size())](*kind.format, previous, engine);
}

}  // namespace mpfr_oracle
