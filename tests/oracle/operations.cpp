// SPDX-License-Identifier: Apache-2.0
//
// Zeros and infinities are handled by tables, other numbers by integers of any length. A result
// longer than 128 bits is cut there and its last bit set if anything was lost. It stays on its side
// of every grid point, midpoint and 2^-32 of an ulp of formats up to 53 bits, which is all that
// rounding needs.
#include "tests/oracle/operations.h"

#include <algorithm>

#include "tests/oracle/dyadic.h"

namespace oracle {
namespace {

/// The result of an operation by the classes of its operands: zero, number, infinity.
enum class Rule {
  numbers,    ///< both are numbers that are not zero: arithmetic decides
  first,      ///< the first operand
  second,     ///< the second operand
  zeros,      ///< their common sign, else +0 or, rounding down, -0 (6.3)
  infs,       ///< their common sign, else invalid (7.2 d)
  zero,       ///< signs multiply
  infinite,   ///< signs multiply, exact (6.1)
  pole,       ///< infinite, and divide_by_zero (7.3)
  undefined,  ///< invalid (7.2)
};
using enum Rule;

/// Rows: the first operand is zero, a number, infinite; columns: the second.
constexpr Rule sums[3][3] = {
    {zeros, second, second}, {first, numbers, second}, {first, first, infs}};
constexpr Rule products[3][3] = {
    {zero, zero, undefined}, {zero, numbers, infinite}, {undefined, infinite, infinite}};
constexpr Rule quotients[3][3] = {
    {undefined, zero, zero}, {pole, numbers, zero}, {infinite, infinite, undefined}};
constexpr Rule remainders[3][3] = {
    {undefined, first, first}, {undefined, numbers, first}, {undefined, undefined, undefined}};

int row(const Value& x) { return x.kind == Kind::infinity ? 2 : is_zero(x) ? 0 : 1; }

Value zero_value(bool negative) {
  Value value;
  value.negative = negative;
  return value;
}

/// Returns the sum of two equal magnitudes with opposite signs: 0, and -0 downward (6.3).
Value cancelled(Way way) { return zero_value(way == Way::down); }

Value infinite_value(bool negative) {
  Value value = zero_value(negative);
  value.kind = Kind::infinity;
  return value;
}

Computed invalid_operation() {
  Value value;
  value.kind = Kind::nan;
  value.low = std::uint64_t{1} << 63;
  return {value, true, false};
}

/// Returns x, plus something below its last bit if `more` is set; x must then have 100 bits or
/// more.
Value in_128_bits(bool negative, Dyadic x, bool more = false) {
  const int drop = static_cast<int>(msb(x.n)) - 127;
  if (drop > 0) {
    bool exact = false;
    x = {floor_at(x, x.e + drop, exact), x.e + drop};
    more = more || !exact;
  }
  if (more) bit_set(x.n, 0);
  Value value = zero_value(negative);
  value.high = static_cast<std::uint64_t>(x.n >> 64);
  value.low = static_cast<std::uint64_t>(x.n & ~std::uint64_t{0});
  value.exponent = x.e;
  return value;
}

Value sum(const Value& a, const Value& b, Way way) {
  const Dyadic x = magnitude(a);
  const Dyadic y = magnitude(b);
  if (a.negative == b.negative) return in_128_bits(a.negative, add(x, y));
  const int side = compare(x, y);
  if (side == 0) return cancelled(way);
  return side > 0 ? in_128_bits(a.negative, subtract(x, y))
                  : in_128_bits(b.negative, subtract(y, x));
}

Value product(const Value& a, const Value& b) {
  const Dyadic x = magnitude(a);
  const Dyadic y = magnitude(b);
  return in_128_bits(a.negative != b.negative, {Integer(x.n * y.n), x.e + y.e});
}

Value quotient(const Value& a, const Value& b) {
  const Dyadic x = magnitude(a);
  const Dyadic y = magnitude(b);
  const int up = 128 + static_cast<int>(msb(y.n)) - static_cast<int>(msb(x.n));
  Integer whole, rest;
  divide_qr(times_power(x.n, up), y.n, whole, rest);
  return in_128_bits(a.negative != b.negative, {whole, x.e - y.e - up}, rest != 0);
}

/// Returns a - b n, where n is the integer nearest to a/b, the even one of two. A zero has a's sign
/// (5.3.1).
Value nearest_remainder(const Value& a, const Value& b) {
  const Dyadic x = magnitude(a);
  const Dyadic y = magnitude(b);
  const int e = std::min(x.e, y.e);
  const Integer divisor = times_power(y.n, y.e - e);
  Integer n, rest;
  divide_qr(times_power(x.n, x.e - e), divisor, n, rest);
  const Integer twice = 2 * rest;
  const bool next = twice > divisor || (twice == divisor && n % 2 != 0);
  if (next) rest = divisor - rest;
  if (rest == 0) return zero_value(a.negative);
  return in_128_bits(a.negative != next, {rest, e});
}

Value root(const Value& a) {
  const Dyadic x = magnitude(a);
  int up = 250 - static_cast<int>(msb(x.n));
  if ((x.e - up) % 2 != 0) ++up;
  Integer rest;
  const Integer whole = sqrt(times_power(x.n, up), rest);
  return in_128_bits(false, {whole, (x.e - up) / 2}, rest != 0);
}

Computed by_rule(Rule rule, const Value& a, const Value& b, Way way) {
  const bool negative = a.negative != b.negative;
  switch (rule) {
    case numbers: break;
    case first: return {a};
    case second: return {b};
    case zeros: return {negative ? cancelled(way) : zero_value(a.negative)};
    case infs: return negative ? invalid_operation() : Computed{a};
    case zero: return {zero_value(negative)};
    case infinite: return {infinite_value(negative)};
    case pole: return {infinite_value(negative), false, true};
    case undefined: return invalid_operation();
  }
  return {};
}

/// Returns the result of an operation with two operands, neither of which is a NaN.
Computed binary(Operation operation, const Value& a, const Value& b, Way way) {
  const auto& table = operation == Operation::add        ? sums
                      : operation == Operation::multiply ? products
                      : operation == Operation::divide   ? quotients
                                                         : remainders;
  const Rule rule = table[row(a)][row(b)];
  if (rule != numbers) return by_rule(rule, a, b, way);
  switch (operation) {
    case Operation::add: return {sum(a, b, way)};
    case Operation::multiply: return {product(a, b)};
    case Operation::divide: return {quotient(a, b)};
    default: return {nearest_remainder(a, b)};
  }
}

Computed square_root(const Value& a) {
  if (is_zero(a)) return {a};  // -0 stays -0 (5.4.1)
  if (a.negative) return invalid_operation();
  return {a.kind == Kind::infinity ? a : root(a)};
}

/// Returns whether a comes before b in the order -Inf, negative numbers, -0, +0, positive numbers,
/// Inf.
bool is_below(const Value& a, const Value& b) {
  if (a.negative != b.negative) return a.negative;
  const Value& inner = a.negative ? b : a;
  const Value& outer = a.negative ? a : b;
  if (row(inner) != row(outer)) return row(inner) < row(outer);
  return row(inner) == 1 && compare(magnitude(inner), magnitude(outer)) < 0;
}

}  // namespace

Computed compute(Operation operation, const Value& a, const Value& b, const Value& c, Way way) {
  const int count = operation == Operation::square_root    ? 1
                    : operation == Operation::multiply_add ? 3
                                                           : 2;
  const Value* const operands[] = {&a, &b, &c};
  // 0 · Inf + NaN: 7.2 c leaves the exception undefined and 6.2.3 only recommends c. The project's
  // choice is Berkeley SoftFloat's: invalid, and the NaN that 0 · Inf makes.
  const bool undefined_product = operation == Operation::multiply_add && a.kind != Kind::nan &&
                                 b.kind != Kind::nan && products[row(a)][row(b)] == undefined;
  if (undefined_product) return invalid_operation();
  const auto is_nan = [](const Value* x) { return x->kind == Kind::nan; };
  const auto end = operands + count;
  const auto nan = std::find_if(operands, end, is_nan);
  if (nan != end) {
    const bool signaling = std::any_of(operands, end, [](auto* x) { return x->signaling; });
    const auto number = std::find_if_not(operands, end, is_nan);
    const bool prefers_numbers =
        operation == Operation::minimum_number || operation == Operation::maximum_number;
    if (prefers_numbers && number != end) return {**number, signaling, false};
    return {**nan, signaling, false};
  }

  Value opposite = b;
  opposite.negative = !b.negative;
  switch (operation) {
    case Operation::subtract: return binary(Operation::add, a, opposite, way);
    case Operation::square_root: return square_root(a);
    case Operation::minimum:
    case Operation::minimum_number: return {is_below(b, a) ? b : a};
    case Operation::maximum:
    case Operation::maximum_number: return {is_below(a, b) ? b : a};
    case Operation::multiply_add:
      return binary(Operation::add, binary(Operation::multiply, a, b, way).value, c, way);
    default: return binary(operation, a, b, way);
  }
}

bool halfway(const Value& value, const Spec& spec) {
  if (value.kind != Kind::number || is_zero(value)) return false;
  const Dyadic x = magnitude(value);
  const int lowest = (spec.zero ? 1 : 0) - spec.bias;
  const int ulp = std::max(exponent_of(x), lowest) - (spec.precision - 1);
  bool exact = false;
  return floor_at(x, ulp - 1, exact) % 2 != 0 && exact;
}

}  // namespace oracle
