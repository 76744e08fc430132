// SPDX-License-Identifier: Apache-2.0
//
// Conversion to and from the oracle's types, and the text of a difference.
#include "tests/emulate/oracle_bridge.h"

#include <bit>
#include <cstdio>

namespace binade::test {
namespace {

std::string hex(std::uint64_t x) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llX", static_cast<unsigned long long>(x));
  return text;
}

}  // namespace

oracle::Spec spec_of(const Format& f) {
  oracle::Spec spec{f.exponent_bits, f.precision, f.bias};
  switch (f.specials) {
    case Specials::ieee: spec.codes = oracle::Codes::ieee; break;
    case Specials::nan_only: spec.codes = oracle::Codes::one_nan; break;
    case Specials::none: spec.codes = oracle::Codes::all_numbers; break;
    case Specials::fnuz: spec.codes = oracle::Codes::fnuz; break;
  }
  spec.zero = f.has_zero;
  spec.sign = f.has_sign;
  spec.padding = f.padding_bits;
  return spec;
}

// The oracle's own test goes through the ways before `random`.
static_assert(static_cast<std::size_t>(oracle::Way::random) + 1 == roundings.size(),
              "the oracle has a way for each rounding, and `random` is its last");

oracle::Rules rules_of(const Attributes& attributes) {
  oracle::Rules rules;
  switch (attributes.rounding) {
    case Rounding::ties_to_even: rules.way = oracle::Way::nearest_even; break;
    case Rounding::ties_to_away: rules.way = oracle::Way::nearest_away; break;
    case Rounding::ties_toward_zero: rules.way = oracle::Way::nearest_zero; break;
    case Rounding::toward_zero: rules.way = oracle::Way::to_zero; break;
    case Rounding::toward_positive: rules.way = oracle::Way::up; break;
    case Rounding::toward_negative: rules.way = oracle::Way::down; break;
    case Rounding::to_odd: rules.way = oracle::Way::odd; break;
    case Rounding::stochastic: rules.way = oracle::Way::random; break;
  }
  switch (attributes.nan) {
    case NanResult::quiet: rules.nan = oracle::Nan::quiet; break;
    case NanResult::nvidia: rules.nan = oracle::Nan::all_ones; break;
    case NanResult::propagate: rules.nan = oracle::Nan::keep; break;
  }
  rules.saturate = attributes.saturation == Saturation::finite;
  rules.flush_results = attributes.flush_results;
  rules.tiny_before = attributes.tininess == Tininess::before_rounding;
  rules.random_bits = attributes.random_bits;
  return rules;
}

oracle::Value value_of(const Exact& x) {
  oracle::Value value;
  value.negative = x.negative;
  value.signaling = x.signaling;
  switch (x.kind) {
    case Kind::zero: return value;
    case Kind::infinite: value.kind = oracle::Kind::infinity; return value;
    case Kind::nan:
      value.kind = oracle::Kind::nan;
      value.low = static_cast<std::uint64_t>(x.significand);
      return value;
    case Kind::finite: break;
  }
  value.high = static_cast<std::uint64_t>(x.significand >> 64);
  value.low = static_cast<std::uint64_t>(x.significand);
  value.rest = x.sticky ? std::uint64_t{1} << 63 : 0;
  value.exponent = x.exponent;
  return value;
}

Projected projected(const oracle::Outcome& outcome) {
  int flags = 0;
  if (outcome.inexact) flags |= Flag::inexact;
  if (outcome.underflow) flags |= Flag::underflow;
  if (outcome.overflow) flags |= Flag::overflow;
  if (outcome.invalid) flags |= Flag::invalid;
  return {outcome.bits, static_cast<Flags>(flags)};
}

Judge::Judge(const Format& format, oracle::Oracle::Method method)
    : format_(format), oracle_(spec_of(format), method) {}

Projected Judge::expected(const Exact& x, const Attributes& attributes,
                          std::uint32_t random) const {
  return projected(oracle_.round(value_of(x), rules_of(attributes), random));
}

void Judge::project(const Exact& x, const Attributes& attributes, std::uint32_t random) {
  const Projected want = expected(x, attributes, random);
  const Projected got = binade::project(x, format_, attributes, random);
  ++cases_;
  for (int bit = 0; bit < 5; ++bit) raised_[bit] += (want.flags >> bit) & 1;
  if (got == want) return;
  if (++differences_ > 5) return;
  report_ += words(format_) + ", " + words(attributes) + ", " + words(x) + ", random " +
             hex(random) + ": got " + words(got) + ", want " + words(want) + "\n";
}

std::uint64_t Judge::raised(Flags flag) const {
  return raised_[std::countr_zero(static_cast<unsigned>(flag))];
}

std::string words(const Format& format) {
  std::string text(format_name(format));
  if (text == "custom") {
    text += " exponent_bits " + std::to_string(format.exponent_bits) + " precision " +
            std::to_string(format.precision) + " bias " + std::to_string(format.bias) +
            " specials " + std::to_string(static_cast<int>(format.specials)) +
            (format.has_zero ? "" : " without zero") + (format.has_sign ? "" : " without sign");
  }
  return text;
}

std::string words(const Attributes& attributes) {
  std::string text(rounding_name(attributes.rounding));
  if (attributes.rounding == Rounding::stochastic) {
    text += "(" + std::to_string(attributes.random_bits) + ")";
  }
  if (attributes.saturation == Saturation::finite) text += ", saturating";
  if (attributes.flush_results) text += ", FTZ";
  if (attributes.flush_operands) text += ", DAZ";
  text += attributes.tininess == Tininess::before_rounding ? ", tiny before" : ", tiny after";
  return text + ", NaN rule " + std::to_string(static_cast<int>(attributes.nan));
}

std::string words(const Exact& x) {
  const std::string sign = x.negative ? "-" : "+";
  switch (x.kind) {
    case Kind::zero: return sign + "0";
    case Kind::infinite: return sign + "Inf";
    case Kind::nan:
      return sign + (x.signaling ? "sNaN " : "NaN ") +
             hex(static_cast<std::uint64_t>(x.significand));
    case Kind::finite: break;
  }
  return sign + hex(static_cast<std::uint64_t>(x.significand >> 64)) + ":" +
         hex(static_cast<std::uint64_t>(x.significand)) + (x.sticky ? "+" : "") + " * 2^" +
         std::to_string(x.exponent);
}

std::string words(const Projected& result) {
  return hex(result.bits) + " flags " + hex(result.flags);
}

}  // namespace binade::test
