// SPDX-License-Identifier: Apache-2.0
//
// The table of rules that converters are held against, and their names.
#include "lib/identify/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lib/format/format_spec.h"

namespace binade {
namespace {

using Signs = std::array<std::uint64_t, 2>;

Signs both(const Signs& a, const Signs& b) { return {a[0] + b[0], a[1] + b[1]}; }

/// Returns the kinds of overflow that the numbers beyond the range, by their signs, tell apart.
std::vector<Overflow> overflows_of(Rounding rounding, const Format& f, const Signs& beyond) {
  bool some_inward = false, some_outward = false;
  for (const bool negative : {false, true}) {
    if (beyond[negative ? 1 : 0] == 0) continue;
    (overflows_to_max(rounding, negative) ? some_inward : some_outward) = true;
  }
  std::vector<Overflow> out{Overflow::by_rounding};
  if (!f.has_nan()) return out;
  if (some_outward) out.push_back(Overflow::largest);
  if (some_inward) out.push_back(Overflow::outward);
  return out;
}

/// Returns the choices of one step that the inputs can tell apart.
std::vector<ConversionStep> steps_to(const Reached::Step& reached, const Signs& beyond) {
  std::vector<ConversionStep> out;
  const bool flushes = reached.tiny > 0 && reached.format.has_zero;
  for (const NamedRounding& row : roundings) {
    if (row.rounding == Rounding::stochastic) continue;
    for (const Overflow overflow : overflows_of(row.rounding, reached.format, beyond)) {
      out.push_back({reached.format, row.rounding, overflow, Flushed::none});
      if (flushes) out.push_back({reached.format, row.rounding, overflow, Flushed::after_rounding});
      if (!flushes || reached.border == 0) continue;
      for (const Flushed other : {Flushed::subnormal_codes, Flushed::before_rounding}) {
        out.push_back({reached.format, row.rounding, overflow, other});
      }
    }
  }
  return out;
}

/// Adds a chain with every choice that concerns it as a whole. `beyond` counts the numbers that its
/// last step may find beyond the range.
void add_chain(std::vector<Conversion>& out, const Reached& reached, const Signs& beyond,
               const std::vector<ConversionStep>& steps) {
  const Format& to = steps.back().to;
  const bool signs_tell = to.specials == Specials::nan_only && to.has_sign && beyond[1] > 0 &&
                          steps.back().overflow != Overflow::largest;
  const bool flushes = std::ranges::any_of(
      steps, [](const ConversionStep& step) { return step.flushed != Flushed::none; });
  for (const bool daz : {false, true}) {
    if (daz && reached.subnormal == 0) continue;
    const bool makes_zeros = flushes || daz || steps.size() > 1;
    const bool zeros_tell = to.has_negative_zero() &&
                            reached.negative_zero + (makes_zeros ? reached.negative_tiny : 0) > 0;
    for (const bool signed_nan : {true, false}) {
      if (!signed_nan && !signs_tell) continue;
      for (const bool positive_zero : {false, true}) {
        if (positive_zero && !zeros_tell) continue;
        out.push_back({daz, signed_nan, positive_zero, steps});
      }
    }
  }
}

}  // namespace

int oddity(const Conversion& x) {
  int out = (x.flush_operands ? 2 : 0) + (x.positive_zero ? 2 : 0) + (x.signed_nan ? 0 : 1);
  for (const ConversionStep& step : x.steps) {
    out += static_cast<int>(step.rounding) + (step.overflow == Overflow::outward ? 2 : 0) +
           (step.flushed == Flushed::none ? 0 : 1 + static_cast<int>(step.flushed));
  }
  return out;
}

std::vector<std::uint64_t> conversion_probes(const Format& from, std::span<const Format> grids) {
  std::set<int> exponents{0};
  std::set<int> cuts;
  for (const Format& f : grids) {
    const int low = f.quantum_exponent(), high = f.emax();
    for (const int e : {low - 1, low, low + 1, f.emin() - 1, f.emin(), high, high + 1}) {
      if (e >= from.quantum_exponent() && e <= from.emax()) exponents.insert(e);
    }
  }
  // Significands are made of stretches between the cuts, each of them all zeros, all ones, its
  // first bit, all but its first bit, or its last bit.
  std::vector<std::uint64_t> out;
  for (const int e : exponents) {
    cuts.clear();
    for (const Format& f : grids) {
      for (const int kept : {f.precision, f.precision - std::max(0, f.emin() - e)}) {
        if (kept >= 1 && kept < from.precision) cuts.insert(kept);
      }
    }
    cuts.insert(from.precision);
    std::vector<std::uint64_t> significands{1};  // the highest bit
    int made = 1;
    for (const int cut : cuts) {
      const int width = cut - made;
      if (width <= 0) continue;
      const std::uint64_t ones = (std::uint64_t{1} << width) - 1;
      const std::uint64_t first = std::uint64_t{1} << (width - 1);
      const std::set<std::uint64_t> stretches{0, ones, first, ones - first, 1};
      std::vector<std::uint64_t> longer;
      for (const std::uint64_t upper : significands) {
        for (const std::uint64_t lower : stretches) longer.push_back(upper << width | lower);
      }
      significands = std::move(longer);
      made = cut;
    }
    for (const std::uint64_t significand : significands) {
      for (const bool negative : {false, true}) {
        const Exact x{.kind = Kind::finite,
                      .negative = negative,
                      .exponent = e - from.fraction_bits(),
                      .significand = significand};
        out.push_back(project(x, from, {.rounding = Rounding::toward_zero}).bits);
      }
    }
  }
  return out;
}

std::vector<Format> conversion_ways(const Format& from, const Format& to) {
  std::vector<Format> out;
  for (const Format& f : {binary32, bfloat16, binary16, tf32}) {
    if (f != to && f != from && !holds(f, from)) out.push_back(f);
  }
  return out;
}

std::vector<Conversion> conversion_candidates(const Reached& reached, Ways ways) {
  const Reached::Step& last = reached.steps[0];
  const std::span<const Reached::Step> between = std::span(reached.steps).subspan(1);
  const auto acts = [](const Reached::Step& x) {
    return x.inexact + x.tiny + x.beyond[0] + x.beyond[1] > 0;
  };
  std::vector<Conversion> out;
  for (const ConversionStep& step : steps_to(last, last.beyond)) {
    add_chain(out, reached, last.beyond, {step});
  }
  for (const Reached::Step& way : between) {
    if (ways == Ways::direct || !acts(way)) continue;
    const Signs beyond = both(last.beyond, way.beyond);
    for (const ConversionStep& first : steps_to(way, way.beyond)) {
      for (const ConversionStep& step : steps_to(last, beyond)) {
        add_chain(out, reached, beyond, {first, step});
      }
    }
  }
  for (const Reached::Step& way : between) {
    for (const Reached::Step& other : between) {
      if (ways != Ways::two_between || &way == &other || !acts(way)) continue;
      if (holds(other.format, way.format)) continue;
      const Signs beyond = both(last.beyond, both(way.beyond, other.beyond));
      for (const ConversionStep& first : steps_to({.format = way.format}, way.beyond)) {
        for (const ConversionStep& second : steps_to({.format = other.format}, other.beyond)) {
          for (const ConversionStep& step : steps_to(last, beyond)) {
            add_chain(out, reached, beyond, {first, second, step});
          }
        }
      }
    }
  }
  std::ranges::stable_sort(out, {}, [](const Conversion& x) {
    return std::pair{x.steps.size(), oddity(x)};
  });
  return out;
}

std::string overflow_text(const Conversion& how, const ConversionStep& step) {
  const Format& f = step.to;
  if (step.overflow == Overflow::largest || !f.has_nan()) return "to the largest number";
  const std::string_view nan = f.specials != Specials::nan_only || !f.has_sign ? "NaN"
                               : how.signed_nan ? "NaN with the number's sign"
                                                : "positive NaN";
  const std::string end = "to " + std::string(f.has_infinity() ? "infinity" : nan);
  if (step.overflow == Overflow::outward) return end;
  const bool positive = !overflows_to_max(step.rounding, false);
  const bool negative = !overflows_to_max(step.rounding, true);
  if (positive == negative) return positive ? end : "to the largest number";
  return end + (positive ? " if positive" : " if negative") + ", else to the largest number";
}

std::string flushed_text(Flushed flushed) {
  constexpr std::array<const char*, 4> names{"kept", "flushed to zero",
                                             "flushed to zero by their value before rounding",
                                             "flushed to zero where their code is subnormal"};
  return names[static_cast<std::size_t>(flushed)];
}

std::string conversion_text(const Conversion& how) {
  std::string out;
  for (const ConversionStep& step : how.steps) {
    if (!out.empty()) out += ", then ";
    out += fmt::format("{} {}", spec_of(step.to), rounding_name(step.rounding));
    if (step.overflow != Overflow::by_rounding) {
      out += ", overflow " + overflow_text(how, step);
    } else if (!how.signed_nan && &step == &how.steps.back()) {
      out += ", overflow to positive NaN";
    }
    if (step.flushed != Flushed::none) out += ", subnormal results " + flushed_text(step.flushed);
  }
  if (how.flush_operands) out += ", subnormal operands taken for zeros";
  if (how.positive_zero) out += ", -0 written as +0";
  return out;
}

}  // namespace binade
