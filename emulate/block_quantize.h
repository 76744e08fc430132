// SPDX-License-Identifier: Apache-2.0
//
// Blocks of binary32 numbers to a block format: amax, scale, elements; and back. These functions
// are the definitions of what the rules of scale_rule.h say.
//
//     amax of the tensor -> scale of the tensor        where the format has one
//     amax of a block    -> scale of the block         a code, and a factor
//     x                  -> x · factor, or x / factor  rounded to binary32
//                        -> element                    rounded by the element's format
#pragma once

#include <cstdint>

#include "emulate/arithmetic.h"
#include "emulate/carrier.h"
#include "emulate/scale_rule.h"

namespace binade {

namespace block_steps {

inline constexpr std::uint32_t magnitude = 0x7FFFFFFF;
inline constexpr std::uint32_t one = 0x3F800000;
inline constexpr std::uint32_t infinity = 0x7F800000;
inline constexpr std::uint32_t largest = 0x7F7FFFFF;
inline constexpr std::uint32_t nan = 0x7FC00000;
inline constexpr std::uint64_t natural_log_of_2 = 0xB17217F7D1CF79AB;  ///< times 2^64

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(
      project(multiply(decode(a, binary32), decode(b, binary32)), binary32).bits);
}
constexpr std::uint32_t over(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(
      project(divide(decode(a, binary32), decode(b, binary32)), binary32).bits);
}

constexpr bool is_nan(std::uint32_t x) { return (x & magnitude) > infinity; }

/// Returns the smaller of a number that is not negative and another one; a NaN is passed over.
constexpr std::uint32_t at_most(std::uint32_t x, std::uint32_t limit) {
  return is_nan(x) || x > limit ? limit : x;
}

/// Returns a number, or a zero in the place of a subnormal one.
constexpr std::uint32_t flushed(std::uint32_t x) {
  return (x & magnitude) < 0x00800000 ? x & ~magnitude : x;
}

/// The operations of a rule, which may flush (ScaleRule::flushes).
struct Operations {
  bool flushes = false;

  constexpr std::uint32_t held(std::uint32_t x) const { return flushes ? flushed(x) : x; }
  constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) const {
    return held(block_steps::times(held(a), held(b)));
  }
  constexpr std::uint32_t over(std::uint32_t a, std::uint32_t b) const {
    return held(block_steps::over(held(a), held(b)));
  }
};

/// Returns 1/x where subnormal operands and results are zeros.
constexpr std::uint32_t flushed_reciprocal(std::uint32_t x) {
  return flushed(over(one, flushed(x)));
}

/// Returns a number rounded to a format that binary32 holds.
constexpr std::uint32_t held(const Format& f, std::uint32_t x) {
  if (f == binary32) return x;
  return static_cast<std::uint32_t>(convert(convert(x, binary32, f).bits, f, binary32).bits);
}

/// Returns a / b, where b is a number of the rule's, not of the input.
constexpr std::uint32_t share(const ScaleRule& rule, std::uint32_t a, std::uint32_t b) {
  const Operations by{rule.flushes};
  return rule.by_reciprocal ? by.times(a, over(one, b)) : by.over(a, b);
}

/// Returns the power of two of a code of e8m0; 2^-127 is a subnormal number.
constexpr std::uint32_t power_of_code(int code) {
  return code == 0xFF ? nan : code == 0 ? 0x00400000U : static_cast<std::uint32_t>(code) << 23;
}

/// Returns ceil(log2(x)) of a positive finite x, where log2 is rounded to binary32 before. With
/// x = 2^k · (1 + n·2^-23), the logarithm rounds to k where n is below ln(2) times half of the
/// distance of k to the next number above it, in units of 2^-23.
constexpr int ceil_of_rounded_log2(std::uint32_t x) {
  const Exact number = with_top_at(decode(x, binary32), 23);
  const int k = number.exponent + 23;
  const auto n = static_cast<std::uint64_t>(number.significand) & 0x7FFFFF;
  if (n == 0) return k;
  const auto size = static_cast<std::uint64_t>(k < 0 ? -k : k);
  if (size == 0) return k + 1;
  const bool closer = k < 0 && (size & (size - 1)) == 0;  // toward zero from a power of two
  const int half = bit_width(size) - 2 - (closer ? 1 : 0);
  return n <= (half <= 0 ? 0 : natural_log_of_2 >> (64 - half)) ? k : k + 1;
}

/// Returns floor(log2(x)) of a positive finite x, where log2 is rounded to binary32 before. Below
/// 2^k, x = 2^k · (1 - n·2^-24), the logarithm rounds to k where n is below ln(2) times half of the
/// distance of k to the next number below it, in units of 2^-24.
constexpr int floor_of_rounded_log2(std::uint32_t x) {
  const Exact number = with_top_at(decode(x, binary32), 23);
  const int k = number.exponent + 24;
  const std::uint64_t n = 0x1000000 - static_cast<std::uint64_t>(number.significand);
  const auto size = static_cast<std::uint64_t>(k < 0 ? -k : k);
  if (size == 0) return k - 1;
  const bool closer = k > 0 && (size & (size - 1)) == 0;  // toward zero from a power of two
  const int half = bit_width(size) - 1 - (closer ? 1 : 0);
  return n <= (half <= 0 ? 0 : natural_log_of_2 >> (64 - half)) ? k : k - 1;
}

/// Returns a factor as a rule rounds it.
constexpr std::uint32_t rounded_factor(FactorRounding rounding, std::uint32_t q) {
  switch (rounding) {
    case FactorRounding::none: return q;
    case FactorRounding::to_power: return q & infinity;
    case FactorRounding::log2_floor: {
      if (q == 0 || q >= infinity) return q;
      const int e = floor_of_rounded_log2(q);
      return static_cast<std::uint32_t>(
          project({.kind = Kind::finite, .exponent = e, .significand = 1}, binary32).bits);
    }
  }
  return q;
}

/// Returns a number's largest magnitude as binary32.
constexpr std::uint32_t largest_of(const Format& f) {
  return static_cast<std::uint32_t>(convert(max_bits(f, false), f, binary32).bits);
}

/// Returns the largest scale of a block that the scale of the tensor aims at, as binary32.
constexpr std::uint32_t largest_scale(const ScaleRule& rule, const BlockFormat& format) {
  return rule.largest_scale == 0
             ? largest_of(format.scale)
             : static_cast<std::uint32_t>(
                   project({.kind = Kind::finite,
                            .significand = static_cast<std::uint64_t>(rule.largest_scale)},
                           binary32)
                       .bits);
}

}  // namespace block_steps

/// Returns the amax of a block that has one more number; both are bits of binary32. It begins at 0.
constexpr std::uint32_t next_amax(const ScaleRule& rule, std::uint32_t amax, std::uint32_t x) {
  using namespace block_steps;
  if (is_nan(x)) return rule.nan_is_amax ? nan : amax;
  return is_nan(amax) || amax > (x & magnitude) ? amax : x & magnitude;
}

/// The scale over a tensor: bits of binary32. Elements are multiplied by `encode`; their values
/// are multiplied by `decode`.
struct TensorScale {
  std::uint32_t encode = block_steps::one;
  std::uint32_t decode = block_steps::one;
  std::uint32_t amax = 0;  ///< of the tensor

  friend constexpr bool operator==(const TensorScale&, const TensorScale&) = default;
};

/// Returns the scale over a tensor from its amax; 1 where the format has none.
constexpr TensorScale tensor_scale(const ScaleRule& rule, const BlockFormat& format,
                                   std::uint32_t amax) {
  using namespace block_steps;
  if (!format.tensor_scale) return {};
  const std::uint32_t most = times(largest_of(format.element), largest_scale(rule, format));
  switch (rule.quotient) {
    case Quotient::encode_over_max:
    case Quotient::over_max_encode: {
      std::uint32_t encode = over(most, amax);
      if (rule.encode_is_given) return {encode, over(one, encode), amax};
      encode = at_most(encode, largest);
      if (amax == 0 || encode == 0) encode = one;
      return {encode, over(one, encode), amax};
    }
    case Quotient::over_max_wide_encode: {
      const std::uint32_t smallest = power_of_code(127 + rule.steps.emin());
      const std::uint32_t inverse = held(rule.steps, over(one, amax < smallest ? smallest : amax));
      std::uint32_t encode = held(rule.steps, times(inverse, most));
      if (encode >= infinity) encode = one;
      return {encode, over(one, encode), amax};
    }
    case Quotient::max_encode: {
      const std::uint32_t encode = over(most, amax);
      return {encode, flushed_reciprocal(encode), amax};
    }
    default: {
      const std::uint32_t scale = share(rule, amax, most);
      return {over(one, scale), scale, amax};
    }
  }
}

/// The scale of a block.
struct BlockScale {
  std::uint32_t code = 0;                   ///< in the format of the scales
  std::uint32_t factor = block_steps::one;  ///< bits of binary32
  bool divides = false;                     ///< elements are divided by `factor`, not multiplied

  friend constexpr bool operator==(const BlockScale&, const BlockScale&) = default;
};

namespace block_steps {

/// Returns what is rounded to a scale, as bits of binary32.
constexpr std::uint32_t quotient(const ScaleRule& rule, const BlockFormat& format,
                                 std::uint32_t amax, const TensorScale& tensor) {
  const std::uint32_t m = largest_of(format.element);
  const Operations by{rule.flushes};
  amax = by.held(amax);
  switch (rule.quotient) {
    case Quotient::amax: return amax;
    case Quotient::over_power: return by.times(amax, power_of_code(127 - format.element.emax()));
    case Quotient::over_max: return held(rule.steps, share(rule, amax, m));
    case Quotient::max_over: {
      const std::uint32_t q = by.over(m, amax);
      if (!rule.one_if_unusable) return q;
      return amax == 0 || amax >= infinity ? one : q == infinity ? largest_of(rule.steps) : q;
    }
    case Quotient::max_over_wide: {
      constexpr std::uint64_t ten_to_minus_12 = 0x3D719799812DEA11;
      std::uint64_t wide = convert(amax, binary32, binary64).bits;
      if (wide < ten_to_minus_12) wide = ten_to_minus_12;
      const Exact inverse = divide(decode(one, binary32), decode(wide, binary64));
      const Exact product =
          multiply(decode(project(inverse, binary64).bits, binary64), decode(m, binary32));
      return static_cast<std::uint32_t>(
          convert(project(product, binary64).bits, binary64, binary32).bits);
    }
    case Quotient::encode_over_max: {
      const std::uint32_t q = by.times(amax, by.times(tensor.encode, over(one, m)));
      if (rule.encode_is_given) return amax == 0 ? 0 : q;
      return at_most(q, largest);
    }
    case Quotient::over_max_over: return by.over(share(rule, amax, m), tensor.decode);
    case Quotient::over_product: {
      const std::uint32_t q = by.over(amax, by.times(tensor.decode, m));
      return q == 0 ? one : q;
    }
    case Quotient::share_of_max: {
      std::uint32_t q = share(rule, amax, m);
      if (q == 0) q = one;
      return by.over(by.times(q, largest_scale(rule, format)), share(rule, tensor.amax, m));
    }
    case Quotient::max_encode: return by.times(tensor.encode, by.times(amax, over(one, m)));
    case Quotient::over_max_encode:
    case Quotient::over_max_wide_encode:
      return by.times(held(rule.steps, share(rule, amax, m)), tensor.encode);
  }
  return 0;
}

/// Returns the code of e8m0 that a rule's rounding gives, before it is held between the first and
/// the last one. `t` are the fraction bits of the elements.
constexpr int power_code(ScaleRounding rounding, std::uint32_t q, int t) {
  const auto field = [](std::uint32_t x) { return static_cast<int>(x >> 23); };
  switch (rounding) {
    case ScaleRounding::nearest:
    case ScaleRounding::down: return field(q);
    case ScaleRounding::up: {
      const Attributes up{.rounding = Rounding::toward_positive};
      return q == 0 ? 0 : static_cast<int>(convert(q, binary32, e8m0, up).bits);
    }
    case ScaleRounding::field_up: return field(q) + ((q & 0x7FFFFF) != 0 ? 1 : 0);
    case ScaleRounding::half_up_to_2: t = 1; [[fallthrough]];
    case ScaleRounding::half_up: return field(is_nan(q) ? q : q + (1U << (22 - t)));
    case ScaleRounding::log2_up:
      return q == 0 ? 0 : q >= infinity ? 0xFF : ceil_of_rounded_log2(q) + 127;
  }
  return 0;
}

/// Returns the code of a scale.
constexpr std::uint32_t scale_code(const ScaleRule& rule, const BlockFormat& format,
                                   std::uint32_t q) {
  if (format.scale == binary32) return q;
  int code = 0;
  bool is_nan_code = is_nan(q), is_inf_code = q == infinity;
  if (format.scale == e8m0) {
    code = power_code(rule.rounding, q, format.element.fraction_bits());
    if (rule.rounding == ScaleRounding::half_up || rule.rounding == ScaleRounding::half_up_to_2)
      is_inf_code = code == 0xFF && !is_nan_code;
    if (rule.quotient == Quotient::amax) code -= format.element.emax();
  } else {
    const Attributes finite{.saturation = Saturation::finite};
    code = static_cast<int>(convert(q, binary32, format.scale, finite).bits);
    if (is_nan_code && rule.nan_code == as_computed) return static_cast<std::uint32_t>(code);
  }
  if (is_nan_code && rule.nan_code != as_computed) return static_cast<std::uint32_t>(rule.nan_code);
  if (is_inf_code && rule.inf_code != as_computed) return static_cast<std::uint32_t>(rule.inf_code);
  if (code <= 0 && rule.zero_code != as_computed) code = rule.zero_code;
  code = code < rule.first_code ? rule.first_code : code;
  return static_cast<std::uint32_t>(code > rule.last_code ? rule.last_code : code);
}

/// Returns what elements are multiplied by, or divided by.
constexpr std::uint32_t factor(const ScaleRule& rule, const BlockFormat& format, std::uint32_t code,
                               std::uint32_t q, std::uint32_t amax, const TensorScale& tensor) {
  const auto scale = [&] {
    return static_cast<std::uint32_t>(convert(code, format.scale, binary32).bits);
  };
  const int power = static_cast<int>(code);
  const Operations by{rule.flushes};
  switch (rule.factor) {
    case Factor::power: return power == 0xFF ? nan : power_of_code(254 - power);
    case Factor::power_or_zero: return power == 0 ? 0 : power_of_code(254 - power);
    case Factor::power_field: return power == 0 || power == 0xFF ? 0 : power_of_code(254 - power);
    case Factor::power_to_infinity: return power == 0xFF ? 0 : power_of_code(254 - power);
    case Factor::power_normal:
      return power == 0xFF ? 0 : power_of_code(power == 0 ? 253 : 254 - power);
    case Factor::power_or_one:
      return power == 0xFF ? nan : power == 0 ? one : power_of_code(254 - power);
    case Factor::power_flushed:
      return q == 0 ? 0 : power == 0 ? infinity : flushed(power_of_code(254 - power));
    case Factor::over_scale: return scale();
    case Factor::reciprocal: return by.over(one, scale());
    case Factor::encode: return q;
    case Factor::reciprocal_of_product:
      return at_most(by.over(one, by.times(scale(), tensor.decode)), largest);
    case Factor::reciprocal_over_scale: return by.over(tensor.encode, scale());
    case Factor::over_product: return by.times(scale(), tensor.decode);
    case Factor::over_quotient: return by.over(scale(), tensor.encode);
    case Factor::flushed_reciprocal:
      return code == 0 ? 0 : flushed_reciprocal(times(scale(), tensor.decode));
    case Factor::flushed_reciprocal_of_amax:
      return by.held(amax) == 0 ? 0 : flushed_reciprocal(times(scale(), tensor.decode));
    case Factor::flushed_reciprocal_of_quotient:
      return q == 0 ? 0 : flushed_reciprocal(times(scale(), tensor.decode));
    case Factor::bfloat16_quotient:
      return held(bfloat16, at_most(over(tensor.encode, scale()), largest_of(bfloat16)));
  }
  return one;
}

}  // namespace block_steps

/// Returns the scale of a block from its amax.
constexpr BlockScale block_scale(const ScaleRule& rule, const BlockFormat& format,
                                 std::uint32_t amax, const TensorScale& tensor) {
  using namespace block_steps;
  if (amax < rule.least_amax) amax = rule.least_amax;
  std::uint32_t q = quotient(rule, format, amax, tensor);
  if (q < rule.least_quotient) q = rule.least_quotient;
  q = rounded_factor(rule.factor_rounding, q);
  const bool divides = rule.factor == Factor::over_scale || rule.factor == Factor::over_product ||
                       rule.factor == Factor::over_quotient;
  if (rule.factor == Factor::encode) return {over(one, q), q, false};
  const std::uint32_t code = scale_code(rule, format, q);
  const Operations by{rule.flushes};
  return {code, by.held(factor(rule, format, code, q, amax, tensor)), divides};
}

/// Returns the code of a magnitude and sign as the block format stores it; of a stored code, but
/// for 10…0 of two's complement, the code of its magnitude and sign.
constexpr std::uint64_t stored_element(const BlockFormat& format, std::uint64_t bits) {
  const Fields x = fields_of(bits, format.element);
  if (!format.twos_complement || !x.negative) return bits;
  const std::uint64_t mask = (std::uint64_t{1} << format.element.bits()) - 1;
  return (~(bits & (mask >> 1)) + 1) & mask;
}

/// Returns a number as an element of its block: x is bits of binary32. `attributes` decide as of
/// any conversion, but for ties_to_even, which is the rule's own rounding to nearest; what is too
/// large is the largest number under Saturation::finite, which every rule here has. The flags are
/// those of the last step.
constexpr Projected block_element(const ScaleRule& rule, const BlockFormat& format,
                                  const BlockScale& scale, std::uint32_t x, Attributes attributes,
                                  std::uint32_t random = 0) {
  using namespace block_steps;
  const Operations by{rule.flushes};
  const std::uint32_t y = scale.divides ? by.over(x, scale.factor) : by.times(x, scale.factor);
  const ElementCast& cast = rule.cast;
  if (attributes.rounding == Rounding::ties_to_even) attributes.rounding = cast.ties;
  const Format& f = format.element;
  if (is_nan(y)) {
    attributes.nan = NanResult::nvidia;
    const bool to_most = cast.nan == NanElement::positive_largest;
    if (to_most || cast.nan == NanElement::negative_largest) {
      return {max_bits(f, !to_most), Flag::invalid};
    }
  }
  if (is_nan(y) && !f.has_nan() && cast.nan != NanElement::largest) {
    if (cast.nan == NanElement::zero) {
      return {zero_bits(f, cast.zero == ZeroSign::minus_zero), Flag::invalid};
    }
    // The exponent is rebiased and the fraction rounded as if the bits were a number's.
    const int drop = 23 - f.fraction_bits();
    const std::uint32_t v = y & magnitude;
    const std::uint32_t rebiased = v - (static_cast<std::uint32_t>(127 - f.bias) << 23);
    const std::uint32_t rounded = rebiased + ((1U << (drop - 1)) - 1) + (v >> drop & 1);
    const std::uint64_t sign = y > magnitude ? std::uint64_t{1} << (f.bits() - 1) : 0;
    return {(rounded >> drop & 0xFF & ((1U << f.bits()) - 1)) | sign, Flag::invalid};
  }
  Projected out = convert(y, binary32, f, attributes, random);
  if (decode(out.bits, f).kind == Kind::zero && f.has_negative_zero()) {
    const bool is_zero = (y & magnitude) == 0;
    const bool negative = y > magnitude;
    out.bits = zero_bits(f, cast.zero == ZeroSign::kept          ? negative
                            : cast.zero == ZeroSign::of_negative ? negative && !is_zero
                            : cast.zero == ZeroSign::minus_zero  ? negative || is_zero
                                                                 : false);
  }
  out.bits = stored_element(format, out.bits);
  return out;
}

namespace block_steps {

constexpr std::uint32_t plus(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(
      project(add(decode(a, binary32), decode(b, binary32), Rounding::ties_to_even), binary32)
          .bits);
}
constexpr std::uint32_t minus(std::uint32_t a, std::uint32_t b) {
  return plus(a, is_nan(b) ? b : b ^ ~magnitude);
}

/// Returns the error of a number under a scale, by FourOrSix.
constexpr std::uint32_t error_under(const ScaleRule& rule, const BlockFormat& format,
                                    const BlockScale& scale, std::uint32_t x,
                                    const TensorScale& tensor) {
  const bool is_fast =
      rule.four_or_six == FourOrSix::magnitudes_fast || rule.four_or_six == FourOrSix::squares_fast;
  const bool is_squared =
      rule.four_or_six == FourOrSix::squares || rule.four_or_six == FourOrSix::squares_fast;
  const std::uint64_t code =
      block_element(rule, format, scale, x, {.saturation = Saturation::finite}).bits;
  const auto element = static_cast<std::uint32_t>(convert(code, format.element, binary32).bits);
  const auto of_block =
      static_cast<std::uint32_t>(convert(scale.code, format.scale, binary32).bits);
  const std::uint32_t product = times(element, of_block);
  const std::uint32_t most = times(largest_of(format.element), largest_scale(rule, format));
  const std::uint32_t error = is_fast ? minus(product, times(x, tensor.encode))
                                      : minus(over(times(product, tensor.amax), most), x);
  return is_squared ? times(error, error) : error & magnitude;
}

}  // namespace block_steps

/// Returns the scale of a block under which its amax becomes 4 rather than 6.
constexpr BlockScale scale_of_four(const ScaleRule& rule, const BlockFormat& format,
                                   std::uint32_t amax, const TensorScale& tensor) {
  using namespace block_steps;
  constexpr std::uint32_t one_and_a_half = 0x3FC00000;
  const std::uint32_t q = times(quotient(rule, format, amax, tensor), one_and_a_half);
  BlockScale out;
  out.code = scale_code(rule, format, at_most(q, largest_of(format.scale)));
  out.factor = factor(rule, format, out.code, q, amax, tensor);
  return out;
}

/// Returns the sum of n errors by FourOrSix: lines of 16 one by one, then the lines in a tree.
template <class Number, class Add, class Error>
constexpr Number sum_of_errors(std::size_t n, const Add& add, const Error& error) {
  constexpr std::size_t line = 16, most_lines = 16;
  Number sums[most_lines] = {};
  for (std::size_t i = 0; i < n && i / line < most_lines; ++i) {
    sums[i / line] = add(sums[i / line], error(i));
  }
  for (std::size_t half = n > line ? most_lines / 2 : 0; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] = add(sums[i], sums[i + half]);
  }
  return sums[0];
}

/// Returns the scale of a block of n numbers, bits of binary32, lines of 16 behind each other where
/// it has more: block_scale(), or the one that the errors of the numbers choose.
constexpr BlockScale chosen_scale(const ScaleRule& rule, const BlockFormat& format,
                                  const std::uint32_t* x, std::size_t n, std::uint32_t amax,
                                  const TensorScale& tensor) {
  using namespace block_steps;
  const BlockScale six = block_scale(rule, format, amax, tensor);
  if (rule.four_or_six == FourOrSix::six) return six;
  const BlockScale four = scale_of_four(rule, format, amax, tensor);
  const auto sum_under = [&](const BlockScale& scale) {
    return sum_of_errors<std::uint32_t>(
        n, &plus, [&](std::size_t i) { return error_under(rule, format, scale, x[i], tensor); });
  };
  const std::uint32_t with_four = sum_under(four), with_six = sum_under(six);
  const bool known = !is_nan(with_four) && !is_nan(with_six);
  return known && with_four < with_six ? four : six;
}

/// Returns the exact value of an element in units of its block's scale.
constexpr Exact element_value(const BlockFormat& format, std::uint64_t code) {
  if (!format.twos_complement) return decode(code, format.element);
  const int bits = format.element.bits();
  const bool negative = (code >> (bits - 1) & 1) != 0;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const std::uint64_t size = negative ? (~code + 1) & mask : code & mask;
  if (size == 0) return {};
  return {.kind = Kind::finite,
          .negative = negative,
          .exponent = format.element.quantum_exponent(),
          .significand = size};
}

/// Returns the exact value of an element under its scales: a product of two or three numbers.
constexpr Exact block_value(const BlockFormat& format, std::uint64_t code, std::uint64_t scale,
                            std::uint32_t tensor_decode = block_steps::one) {
  const Exact inner = multiply(element_value(format, code), decode(scale, format.scale));
  return multiply(inner, decode(tensor_decode, binary32));
}

}  // namespace binade
