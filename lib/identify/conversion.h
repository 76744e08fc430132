// SPDX-License-Identifier: Apache-2.0
//
// What a converter does to finite numbers, as a value: the formats that a number passes through one
// after the other, and what happens at each step. A converter from binary32 to e4m3 by way of a
// truncated bfloat16:
//
//     3F8FFFFF  1.1249998  -- bfloat16, toward_zero -->  3F8F  1.1171875  -- e4m3, ties_to_even -->  39
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulate/project.h"

namespace binade {

/// What a converter was given and what it gave: encodings, one of each for every element, in C
/// order.
struct Converted {
  Format from = {}, to = {};
  std::vector<std::uint64_t> inputs = {}, codes = {};
  std::vector<std::uint64_t> shape = {};
  bool values = false;  ///< the codes were made of values, so that bits of NaNs mean nothing
};

/// What becomes of a finite number whose rounding lies beyond the range.
enum class Overflow : std::uint8_t {
  by_rounding,  ///< IEEE 754-2019 7.4: infinity, but the largest number where the rounding goes
                ///< inward
  outward,      ///< infinity, whatever the rounding
  largest,      ///< the largest number
};

/// Which results below the smallest normal number become zero.
enum class Flushed : std::uint8_t {
  none,
  after_rounding,   ///< those that are below it once rounded to the precision
  before_rounding,  ///< those whose exact value is below it
  subnormal_codes,  ///< those whose code, rounded to the subnormal numbers, is below it
};

struct ConversionStep {
  Format to;
  Rounding rounding = Rounding::ties_to_even;
  Overflow overflow = Overflow::by_rounding;
  Flushed flushed = Flushed::none;

  friend bool operator==(const ConversionStep&, const ConversionStep&) = default;
};

struct Conversion {
  bool flush_operands = false;  ///< subnormal operands count as zeros
  /// Whether the NaN that takes the place of an infinity has the sign of the number.
  bool signed_nan = true;
  bool positive_zero = false;  ///< a result of -0 becomes +0
  std::vector<ConversionStep> steps = {};

  friend bool operator==(const Conversion&, const Conversion&) = default;
};

/// Returns the code that a converter gives for a finite number or zero, whatever
/// how.flush_operands.
constexpr std::uint64_t converted(const Conversion& how, Exact x) {
  std::uint64_t code = 0;
  for (const ConversionStep& step : how.steps) {
    const Format& f = step.to;
    const Projected out =
        project(x, f,
                {.rounding = step.rounding,
                 .saturation = Saturation::finite,
                 .flush_results = step.flushed == Flushed::after_rounding ||
                                  step.flushed == Flushed::before_rounding,
                 .tininess = step.flushed == Flushed::before_rounding ? Tininess::before_rounding
                                                                      : Tininess::after_rounding});
    code = out.bits;
    if (step.flushed == Flushed::subnormal_codes && is_subnormal(code, f)) {
      code = zero_bits(f, fields_of(code, f).negative);
    }
    const bool beyond = x.kind == Kind::infinite || (out.flags & Flag::overflow) != 0;
    const bool inward = step.overflow == Overflow::largest || !f.has_nan() ||
                        (step.overflow == Overflow::by_rounding && x.kind == Kind::finite &&
                         overflows_to_max(step.rounding, x.negative));
    if (beyond && !inward) {
      const NanResult nan = how.signed_nan ? NanResult::propagate : NanResult::quiet;
      code = f.has_infinity() ? infinity_bits(f, x.negative) : nan_bits(f, nan, x.negative);
    }
    if (&step != &how.steps.back()) x = decode(code, f);
  }
  const Format& to = how.steps.back().to;
  const bool zero = how.positive_zero && code == zero_bits(to, true);
  return zero ? zero_bits(to, false) : code;
}
/// Returns the code that it gives for an encoding of a format, which must be finite.
constexpr std::uint64_t converted(const Conversion& how, std::uint64_t bits, const Format& from) {
  return converted(how, decode_operand(bits, from, {.flush_operands = how.flush_operands}));
}

/// What the finite numbers among some inputs reach: attributes that act on nothing of it cannot be
/// told from what the converter gave. Counts are of elements.
struct Reached {
  /// What the numbers reach in one format when they are rounded to it directly.
  struct Step {
    Format format;
    std::uint64_t inexact = 0;
    std::uint64_t tiny = 0;                 ///< below the smallest normal number
    std::uint64_t border = 0;               ///< of these, those that a rounding can lift to it
    std::array<std::uint64_t, 2> beyond{};  ///< above the largest number: positive, negative
  };
  std::vector<Step> steps = {};  ///< first the format of the codes, then those of conversion_ways()
  std::uint64_t subnormal = 0;   ///< operands that are subnormal
  std::uint64_t negative_zero = 0;  ///< negative numbers and zeros that are -0 once cut off
  std::uint64_t negative_tiny = 0;  ///< negative numbers that flushing can make -0
  std::uint64_t zeros = 0;          ///< operands that are zeros
};

/// Returns the formats by way of which converters between two formats are taken to go.
std::vector<Format> conversion_ways(const Format& from, const Format& to);

/// How many formats may lie between that of the inputs and that of the codes.
enum class Ways : std::uint8_t { direct, one_between, two_between };
/// Returns all rules that differ on what was reached, the simplest first.
std::vector<Conversion> conversion_candidates(const Reached& reached, Ways ways);

/// Returns how far a rule is from the plainest one of as many steps.
int oddity(const Conversion& x);

/// Returns finite encodings, of both signs, that lie in every way on the grids of some formats that
/// roundings one after the other tell apart.
std::vector<std::uint64_t> conversion_probes(const Format& from, std::span<const Format> grids);

/// Returns "bfloat16 toward_zero, then e4m3 ties_to_even, overflow to the largest number".
std::string conversion_text(const Conversion& how);
/// Returns "infinity", "the largest number", "NaN".
std::string overflow_text(const Conversion& how, const ConversionStep& step);
std::string flushed_text(Flushed flushed);

}  // namespace binade
