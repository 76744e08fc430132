// SPDX-License-Identifier: Apache-2.0
//
// Bounds the exact results of each operation by those of its operands: an option has an effect if
// it acts on what lies within the bounds. Bounds that are wider than the results take an option
// that changes nothing; none refuses one that does.
#include "lib/testfloat/test_effects.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace binade {
namespace {

/// Bits of a quotient or a root, and the exponent of its last, where there is no last one.
constexpr int endless = 1 << 20;

/// A NaN as it is encoded: its sign, and its fraction left-aligned in 64 bits.
struct EncodedNan {
  bool negative = false;
  std::uint64_t payload = 0;
};

/// Where exact values lie.
struct Reach {
  int quantum = 0;    ///< they are multiples of 2^quantum
  int least = 0;      ///< none but zero is below 2^least in magnitude
  int precision = 0;  ///< none has more significant bits
  Exact most = {};    ///< none is larger in magnitude; finite
  bool negative = false;
  bool infinite = false;
  bool has_zero = true;
  bool cancels = false;  ///< a sum is zero, with the sign that the rounding gives it
  std::vector<EncodedNan> nans = {};
};

/// The exponent of a finite number's leading bit.
int top_of(const Exact& x) { return x.exponent + bit_width(x.significand) - 1; }

bool is_larger(const Exact& a, const Exact& b) {
  return compare_magnitudes(a, b) == Relation::greater;
}

Reach reach_of(const Format& f) {
  Reach out{
      .quantum = f.quantum_exponent(),
      .least = f.has_zero ? f.quantum_exponent() : f.emin(),
      .precision = f.precision,
      .most = {.kind = Kind::finite,
               .exponent = f.emax() - f.fraction_bits(),
               .significand = f.max_significand()},
      .negative = f.has_sign,
      .infinite = f.has_infinity(),
      .has_zero = f.has_zero,
  };
  if (!f.has_nan()) return out;
  const std::uint64_t payload =
      f.specials == Specials::ieee ? f.fraction_mask() << (64 - f.fraction_bits()) : 0;
  out.nans.push_back({false, payload});
  if (f.has_sign) out.nans.push_back({true, payload});
  return out;
}

Reach reach_of(const ValueType& type) {
  if (type.kind != ValueType::Kind::integer) return reach_of(type.format);
  const IntegerType& x = type.integer;
  return {.precision = x.is_signed ? x.bits - 1 : x.bits,
          .most = {.kind = Kind::finite, .significand = std::max(x.limit(true), x.limit(false))},
          .negative = x.is_signed};
}

/// What either gives.
Reach either(const Reach& a, const Reach& b) {
  Reach out{.quantum = std::min(a.quantum, b.quantum),
            .least = std::min(a.least, b.least),
            .precision = std::max(a.precision, b.precision),
            .most = is_larger(a.most, b.most) ? a.most : b.most,
            .negative = a.negative || b.negative,
            .infinite = a.infinite || b.infinite,
            .has_zero = a.has_zero || b.has_zero,
            .nans = a.nans};
  out.nans.insert(out.nans.end(), b.nans.begin(), b.nans.end());
  return out;
}

/// a ± b, by signs that the operands have or the operation gives.
Reach sum_of(const Reach& a, const Reach& b, bool subtracts) {
  Reach out = either(a, b);
  out.least = out.quantum;
  out.most.exponent += 1;  // at most twice the larger
  out.precision = top_of(out.most) - out.quantum + 1;
  out.negative = out.negative || subtracts;
  out.cancels = out.has_zero = out.negative;
  if (out.infinite) out.nans.push_back({});
  return out;
}

Reach product_of(const Reach& a, const Reach& b) {
  Reach out = either(a, b);
  out.quantum = a.quantum + b.quantum;
  out.least = a.least + b.least;
  out.precision = a.precision + b.precision - (a.precision == 1 || b.precision == 1 ? 1 : 0);
  out.most = multiply(a.most, b.most);
  if (out.infinite) out.nans.push_back({});
  return out;
}

Reach quotient_of(const Reach& a, const Reach& b) {
  Reach out = either(a, b);
  out.quantum = -endless;
  out.least = a.least - (top_of(b.most) + 1);
  out.precision = endless;
  out.most = a.most;
  out.most.exponent -= b.least;
  out.has_zero = a.has_zero || b.infinite;
  out.infinite = a.infinite || b.has_zero;
  out.nans.push_back({});
  return out;
}

/// Exact, of no more bits than the longer operand, and no larger than either.
Reach remainder_of(const Reach& a, const Reach& b) {
  Reach out = either(a, b);
  out.least = out.quantum;
  out.most = is_larger(a.most, b.most) ? b.most : a.most;
  out.negative = out.has_zero = true;
  out.infinite = false;
  out.nans.push_back({});
  return out;
}

int half_up(int x) { return x / 2 + (x > 0 && x % 2 != 0 ? 1 : 0); }

Reach root_of(Reach a) {
  a.quantum = -endless;
  a.least = -half_up(-a.least);
  a.precision = endless;
  a.most = {.kind = Kind::finite, .exponent = half_up(top_of(a.most) + 1), .significand = 1};
  if (a.negative) a.nans.push_back({});
  a.negative = false;
  return a;
}

Reach integral_of(Reach a) {
  if (a.quantum >= 0) return a;
  a.quantum = 0;
  a.least = std::max(a.least, 0);
  a.has_zero = true;
  if (a.most.exponent < 0) {
    a.most = round_to_integral(a.most, Rounding::toward_positive, false);
  }
  return a;
}

Reach exact_reach(const TestFunction& function) {
  std::array<Reach, 3> x;
  for (std::size_t i = 0; i < function.operands.size(); ++i) x[i] = reach_of(function.operands[i]);
  const auto& [a, b, c] = x;
  switch (function.act) {
    case Act::extremum: return either(a, b);
    case Act::round_to_integral: return integral_of(a);
    case Act::arithmetic: break;
    default: return a;
  }
  switch (function.operation) {
    case Operation::add: return sum_of(a, b, false);
    case Operation::subtract: return sum_of(a, b, true);
    case Operation::multiply: return product_of(a, b);
    case Operation::multiply_add: return sum_of(product_of(a, b), c, false);
    case Operation::divide: return quotient_of(a, b);
    case Operation::remainder: return remainder_of(a, b);
    case Operation::square_root: return root_of(a);
    default: return either(a, b);
  }
}

/// Whether --rounding, for some direction, changes a result that is rounded to f.
bool rounding_acts(const Reach& r, const Format& f, bool beyond, Saturation saturation) {
  const bool between = r.precision > f.precision || r.quantum < f.quantum_exponent();
  const bool ends_by_rounding = beyond && saturation == Saturation::none && f.has_nan();
  return between || ends_by_rounding || (r.cancels && f.has_negative_zero());
}

/// Whether what is rounded to fewer bits, with no lower end, can come to the smallest normal number
/// from below.
bool tininess_acts(const Reach& r, const Format& f) {
  return r.least < f.emin() && r.precision > f.precision && r.quantum < f.emin() - f.precision;
}

/// Whether a rule for NaNs changes one: of an operand, of an invalid operation, or in the place of
/// an infinity.
bool nan_acts(const Reach& r, const Format& f, bool infinite, const Attributes& a) {
  if (!f.has_nan() || a.nan == NanResult::quiet) return false;
  const std::uint64_t quiet = nan_bits(f, NanResult::quiet);
  const bool for_infinity = infinite && !f.has_infinity() && r.negative &&
                            a.saturation == Saturation::none &&
                            nan_bits(f, NanResult::propagate, true) != quiet;
  return for_infinity || std::ranges::any_of(r.nans, [&](const EncodedNan& x) {
           return nan_bits(f, a.nan, x.negative, x.payload) != quiet;
         });
}

/// Whether rounding to an integer takes every subnormal number for zero, with no flag.
bool rounds_subnormals_to_zero(const Format& f, const TestSettings& s) {
  return std::ranges::all_of(std::array{false, f.has_sign}, [&](bool negative) {
    const Exact largest{.kind = Kind::finite,
                        .negative = negative,
                        .exponent = f.quantum_exponent(),
                        .significand = f.fraction_mask()};
    const Exact out = round_to_integral(largest, s.attributes.rounding, s.exact);
    return out.kind == Kind::zero && out.flags == 0;
  });
}

/// Whether a subnormal operand gives something else than a zero of its sign.
bool flushed_operands_act(const TestFunction& function, const TestSettings& s) {
  const auto has_subnormals = [](const ValueType& x) {
    return x.kind == ValueType::Kind::number && x.format.has_subnormals();
  };
  if (std::ranges::none_of(function.operands, has_subnormals)) return false;
  const Predicate& p = function.predicate;
  const Format& from = function.operands[0].format;
  const Format& to = function.result.format;
  switch (function.act) {
    case Act::compare: return p.less != p.equal || p.equal != p.greater;
    case Act::round_to_integral:
    case Act::to_integer: return !rounds_subnormals_to_zero(from, s);
    case Act::convert:  // what has no zero takes both for its smallest number
      return to.has_zero || from.emin() >= to.emin();
    default: return true;
  }
}

}  // namespace

std::vector<IdleOption> idle_settings(const TestFunction& function, const TestSettings& s) {
  const Attributes usual, &a = s.attributes;
  const bool to_integer = function.act == Act::to_integer;
  const bool to_format = function.act != Act::compare && !to_integer;
  const bool to_integral = to_integer || function.act == Act::round_to_integral;
  const std::string on = "on " + function.name;
  const std::string without_format =
      on + ", whose result is " + (to_integer ? "an integer" : "a truth value");
  std::vector<IdleOption> out{
      {"--exact", s.exact && !to_integral, on + ", which rounds to no integer"},
      {"--daz", a.flush_operands && !flushed_operands_act(function, s),
       on + ", which no subnormal operand changes"},
  };
  const auto add = [&](const char* name, bool given, bool acts, const std::string& because) {
    out.push_back({name, given && !acts, to_format ? on + ", " + because : without_format});
  };
  const Format& f = function.result.format;
  const Reach r = to_format ? exact_reach(function) : Reach{};
  const bool beyond = to_format && is_larger(r.most, reach_of(f).most);
  const bool below = to_format && r.least < f.emin();
  const bool to_infinity = r.infinite || (beyond && !overflows_to_max(a.rounding, true));
  add("--rounding", a.rounding != usual.rounding,
      to_integral || (to_format && rounding_acts(r, f, beyond, a.saturation)),
      "whose results are exact");
  add("--saturation", a.saturation != usual.saturation, to_format && (beyond || r.infinite),
      "whose results are finite and in range");
  add("--ftz", a.flush_results, below && f.has_zero,
      f.has_zero ? "whose results are never subnormal" : "whose result has no zero");
  add("--tininess", a.tininess != usual.tininess, to_format && tininess_acts(r, f),
      below ? "whose subnormal results are exact" : "whose results are never subnormal");
  add("--nan", a.nan != usual.nan, to_format && nan_acts(r, f, to_infinity, a),
      !f.has_nan() ? "which has no NaN" : "whose NaNs stay the same");
  return out;
}

}  // namespace binade
