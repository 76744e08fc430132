// SPDX-License-Identifier: Apache-2.0
//
// The rules of a Tensor Core's multiply-add, one function for each, on integers of any length.
#include "tests/oracle/dot.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tests/oracle/dyadic.h"

namespace oracle {
namespace {

/// An operand or a product. `exponent` is the one by which it is aligned, which need not be
/// floor(log2 size).
struct Term {
  Kind kind = Kind::number;
  bool negative = false;
  Dyadic size{};
  int exponent = 0;
  bool is_zero() const { return kind == Kind::number && size.n == 0; }
};

using Terms = std::vector<Term>;

Integer power_of_two(int n) { return times_power(Integer(1), n); }

/// Returns t / 2^e, which must be an integer.
Integer signed_multiple(const Term& t, int e) {
  const Integer n = times_power(t.size.n, t.size.e - e);
  return t.negative ? Integer(-n) : n;
}

Term number(const Integer& n, int e) { return {Kind::number, n < 0, {Integer(abs(n)), e}, 0}; }

const Spec& spec_of(Result result) {
  static const Spec short_binary32{8, 14, 127, Codes::ieee, true, true, 10};
  static const Spec& half = named_spec("binary16").spec;
  static const Spec& single = named_spec("binary32").spec;
  static const Spec& twice = named_spec("binary64").spec;
  switch (result) {
    case Result::binary16: return half;
    case Result::binary32: return single;
    case Result::binary32_of_14_digits: return short_binary32;
    case Result::binary64: return twice;
  }
  return single;
}

std::uint64_t nan_of(Result result) {
  switch (result) {
    case Result::binary16: return 0x7FFF;
    case Result::binary64: return 0x7FF8000000000000;
    default: return 0x7FFFFFFF;
  }
}

int min_exponent(const Spec& spec) { return 1 - spec.bias; }

std::uint64_t assemble_dot(bool negative, int field, const Integer& fraction, const Spec& spec) {
  const Integer sign = negative ? 1 : 0;
  const Integer code =
      (sign * power_of_two(spec.exponent_bits) + field) * power_of_two(spec.precision - 1) +
      fraction;
  return static_cast<std::uint64_t>(Integer(code * power_of_two(spec.padding)));
}

std::uint64_t infinity_of(bool negative, const Spec& spec) {
  return assemble_dot(negative, 2 * spec.bias + 1, 0, spec);
}

/// Returns the number that the bits stand for, with the exponent that a format with this smallest
/// exponent gives it: subnormals have the smallest.
Term read(std::uint64_t bits, const Spec& spec, int smallest) {
  const Value value = value_of(bits, spec);
  Term t{value.kind, value.negative, {}, 0};
  if (value.kind == Kind::number) t.size = magnitude(value);
  if (value.kind == Kind::number && t.size.n != 0) {
    t.exponent = std::max(exponent_of(t.size), smallest);
  }
  return t;
}

/// Returns n, where n 2^e <= x < (n + 1) 2^e, or n + 1, as the rounding direction `way` says.
Integer multiple_near(const Dyadic& x, int e, Way way, bool negative) {
  bool exact = false;
  const Integer n = floor_at(x, e, exact);
  const int side = compare({Integer(x.n * 2), x.e}, {Integer(2 * n + 1), e});
  bool above = false;
  switch (way) {
    case Way::to_zero: above = false; break;
    case Way::up: above = !negative; break;
    case Way::down: above = negative; break;
    case Way::nearest_even: above = side > 0 || (side == 0 && n % 2 != 0); break;
    default: throw std::invalid_argument("no such rounding of a sum");
  }
  return n + (!exact && above ? 1 : 0);
}

/// Returns x rounded by IEEE 754 to a format with Inf and NaN. A zero keeps the sign of x.
std::uint64_t rounded(const Term& x, const Spec& spec, Way way) {
  const int places = spec.precision - 1;
  if (x.size.n == 0) return assemble_dot(x.negative, 0, 0, spec);
  int exponent = std::max(exponent_of(x.size), min_exponent(spec));
  Integer n = multiple_near(x.size, exponent - places, way, x.negative);
  if (n == power_of_two(spec.precision)) {
    n = power_of_two(places);
    exponent += 1;
  }
  if (exponent > spec.bias) {
    const bool finite = way == Way::to_zero || way == (x.negative ? Way::up : Way::down);
    if (!finite) return infinity_of(x.negative, spec);
    return assemble_dot(x.negative, 2 * spec.bias, power_of_two(places) - 1, spec);
  }
  const bool normal = n >= power_of_two(places);
  return assemble_dot(x.negative, normal ? exponent + spec.bias : 0, n % power_of_two(places),
                      spec);
}

/// Returns the sum of terms among which there is a NaN or an Inf.
std::uint64_t special_sum(const Terms& terms, Result result) {
  bool nan = false;
  bool plus = false;
  bool minus = false;
  for (const Term& t : terms) {
    nan = nan || t.kind == Kind::nan;
    plus = plus || (t.kind == Kind::infinity && !t.negative);
    minus = minus || (t.kind == Kind::infinity && t.negative);
  }
  if (nan || (plus && minus)) return nan_of(result);
  return infinity_of(minus, spec_of(result));
}

bool has_special(const Terms& terms) {
  return std::ranges::any_of(terms, [](const Term& t) { return t.kind != Kind::number; });
}

/// Returns x + y by IEEE 754.
std::uint64_t ieee_sum(const Term& x, const Term& y, Result result, Way way) {
  if (has_special({x, y})) return special_sum({x, y}, result);
  const int e = std::min(x.size.e, y.size.e);
  Term sum = number(signed_multiple(x, e) + signed_multiple(y, e), e);
  if (sum.is_zero()) {
    const bool both_zero_alike = x.is_zero() && y.is_zero() && x.negative == y.negative;
    sum.negative = both_zero_alike ? x.negative : way == Way::down;
  }
  return rounded(sum, spec_of(result), way);
}

/// Returns the exact product. Its exponent is the sum of the factors' exponents, or with
/// `normalized` the product's own.
Term product(const Term& a, const Term& b, bool normalized) {
  Term p{Kind::number, a.negative != b.negative, {}, 0};
  if (a.kind == Kind::nan || b.kind == Kind::nan) {
    p.kind = Kind::nan;
  } else if (a.kind == Kind::infinity || b.kind == Kind::infinity) {
    p.kind = a.is_zero() || b.is_zero() ? Kind::nan : Kind::infinity;
  } else {
    p.size = {Integer(a.size.n * b.size.n), a.size.e + b.size.e};
    p.exponent = a.exponent + b.exponent;
    if (normalized && !p.is_zero()) p.exponent = exponent_of(p.size);
  }
  return p;
}

/// Returns the term in units of 2^e after alignment, and sets `lost` if anything was cut off.
Integer aligned(const Term& t, int e, Cut cut, bool& lost) {
  bool exact = false;
  Integer n = floor_at(t.size, e, exact);
  lost = lost || !exact;
  if (cut == Cut::downward && t.negative && !exact) n += 1;
  if (cut == Cut::nearest_even) n = multiple_near(t.size, e, Way::nearest_even, t.negative);
  if (cut == Cut::sticky_terms) n = 2 * n + (exact ? 0 : 1);  // in halves of 2^e
  return t.negative ? Integer(-n) : n;
}

/// Returns the exact sum of the terms after alignment.
Term aligned_sum(const Terms& terms, int last_place, Cut cut) {
  Integer n = 0;
  bool lost = false;
  for (const Term& t : terms) n += aligned(t, last_place, cut, lost);
  if (cut == Cut::sticky_terms) return number(n, last_place - 1);
  if (cut == Cut::sticky_sum && lost) return number(2 * n + (n < 0 ? -1 : 1), last_place - 1);
  return number(n, last_place);
}

int largest_exponent(const Terms& terms, int floor) {
  int largest = floor;
  for (const Term& t : terms) {
    if (!t.is_zero()) largest = std::max(largest, t.exponent);
  }
  return largest;
}

/// Returns C + the products of one block.
std::uint64_t fused_sum(const DotRules& rules, const Terms& products, const Term& c) {
  Terms terms = products;
  terms.push_back(c);
  if (has_special(terms)) return special_sum(terms, rules.result);
  if (rules.c_after_products) terms.pop_back();

  int largest = largest_exponent(terms, rules.exponent_floor);
  Term sum = aligned_sum(terms, largest - rules.fraction_bits, rules.cut);
  if (rules.c_after_products) {
    largest = largest_exponent({c}, largest);
    sum = aligned_sum({sum, c}, largest - rules.fraction_bits, rules.cut);
  }

  const Spec& spec = spec_of(rules.result);
  const Dyadic too_large{Integer(1), spec.bias + 1};
  if (compare(sum.size, too_large) >= 0) return infinity_of(sum.negative, spec);
  const std::uint64_t d = rounded(sum, spec, rules.way);
  const bool minus_zero = d == assemble_dot(true, 0, 0, spec);  // an H100 never gives it
  return minus_zero ? assemble_dot(false, 0, 0, spec) : d;
}

/// Returns the sum of blocks of consecutive products, each with the sum of the block before as its
/// C.
std::uint64_t chain(const DotRules& rules, const Terms& products, const Term& c) {
  const auto length = static_cast<std::size_t>(rules.block_length);
  std::vector<Terms> blocks;
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (i % length == 0) blocks.emplace_back();
    blocks.back().push_back(products[i]);
  }
  if (rules.highest_block_first) std::ranges::reverse(blocks);
  const Spec& spec = spec_of(rules.result);
  std::uint64_t d = 0;
  Term addend = c;
  for (const Terms& block : blocks) {
    d = fused_sum(rules, block, addend);
    addend = read(d, spec, min_exponent(spec));
  }
  return d;
}

/// Returns the products of the first or the second of the two chains that share the products.
Terms half_of(std::span<const Term> products, std::size_t half, bool contiguous) {
  Terms chosen;
  for (std::size_t k = 0; k < products.size(); ++k) {
    const std::size_t chain = contiguous ? k / (products.size() / 2) : k / 2 % 2;
    if (chain == half) chosen.push_back(products[k]);
  }
  return chosen;
}

std::uint64_t expanded(const DotRules& rules, const Terms& products, const Term& c) {
  const Spec& spec = spec_of(rules.result);
  const int smallest = min_exponent(spec);
  if (products.size() % 32 != 0 && products.size() != 16) {
    throw std::invalid_argument("the expanded recipe takes 16 products or a multiple of 32");
  }
  std::uint64_t d = 0;
  Term addend = c;
  for (std::size_t start = 0; start < products.size(); start += 32) {
    const std::size_t count = std::min<std::size_t>(32, products.size() - start);
    const std::span<const Term> here(products.data() + start, count);
    Term sum = rules.c_in_chain ? addend : Term{};
    for (std::size_t half = 0; half < 2; ++half) {
      const Terms chosen = half_of(here, half, rules.contiguous_halves);
      sum = read(chain(rules, chosen, sum), spec, smallest);
    }
    const Term last = rules.c_in_chain ? Term{} : addend;
    d = ieee_sum(sum, last, rules.result, Way::nearest_even);
    addend = read(d, spec, smallest);
  }
  return d;
}

std::uint64_t fma_chain(const DotRules& rules, const Terms& products, const Term& c) {
  const Spec& spec = spec_of(rules.result);
  std::uint64_t d = 0;
  Term addend = c;
  for (const Term& p : products) {
    d = ieee_sum(p, addend, rules.result, rules.way);
    addend = read(d, spec, min_exponent(spec));
  }
  return d;
}

}  // namespace

std::uint64_t dot(const DotRules& rules, const Spec& a_spec, const Spec& b_spec, const Spec& c_spec,
                  std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                  std::uint64_t c) {
  if (a.empty() || a.size() != b.size() || rules.block_length < 1) {
    throw std::invalid_argument("a dot product of what?");
  }
  const auto operand = [&](std::uint64_t bits, const Spec& spec) {
    if (rules.flushed_operands && is_subnormal(bits, spec)) return Term{};
    const bool through_binary16 = rules.recipe == Recipe::expanded;
    return read(bits, spec, min_exponent(through_binary16 ? spec_of(Result::binary16) : spec));
  };
  Terms products;
  for (std::size_t k = 0; k < a.size(); ++k) {
    products.push_back(
        product(operand(a[k], a_spec), operand(b[k], b_spec), rules.normalized_products));
  }
  const Term addend = read(c, c_spec, min_exponent(spec_of(rules.result)));
  switch (rules.recipe) {
    case Recipe::blocks: return chain(rules, products, addend);
    case Recipe::expanded: return expanded(rules, products, addend);
    case Recipe::fma_chain: return fma_chain(rules, products, addend);
  }
  throw std::invalid_argument("no such recipe");
}

}  // namespace oracle
