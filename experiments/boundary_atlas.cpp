// SPDX-License-Identifier: Apache-2.0
//
// Question: at which magnitudes does a value become zero, subnormal, normal or overflow in each
// format? It is widely repeated that "FP16 underflows to zero below 6e-5". That is the smallest
// normal number, 2^-14; below it lie 1023 subnormal numbers, and rounding with ties to even gives
// zero only from 2^-25 down, a factor of 2048 lower.
//
// The boundaries are found by bisection over binary64 encodings, with the emulator as the only
// judge, and compared with closed forms. In formats of up to 16 bits all midpoints between
// neighbours are tried: a midpoint must go to its even neighbour, and the next binary64 numbers
// below and above it must go to the neighbour on their side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "emulate/quantize.h"
#include "lib/runs/experiment.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

struct Named {
  const char* label;
  Attributes attributes;
};

constexpr std::array<Named, 3> behaviours{{
    {"ties_to_even", {}},
    {"toward_zero", {.rounding = Rounding::toward_zero}},
    {"ties_to_even, flushed", {.flush_results = true}},
}};

Projected rounded(double x, const Format& f, const Attributes& attributes) {
  return convert(bits_of(x), binary64, f, attributes);
}

/// Returns the smallest positive binary64 number for which a condition holds that is false up to it
/// and true from it on.
double first_where(const std::function<bool(double)>& holds) {
  std::uint64_t low = 0;  // the condition is false here
  std::uint64_t high = bits_of(std::numeric_limits<double>::infinity());
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(std::bit_cast<double>(middle)) ? high : low) = middle;
  }
  return std::bit_cast<double>(high);
}

/// Returns the largest binary64 number that is less than x.
double before(double x) { return std::nextafter(x, 0.0); }

/// Writes a power of two as 2^n, other numbers in decimal.
std::string shown(double x) {
  int exponent = 0;
  if (std::frexp(x, &exponent) == 0.5) return fmt::format("2^{}", exponent - 1);
  return fmt::format("{:.7g}", x);
}

/// Writes the boundary above `last`, the last number on its lower side, as "<= x" or "< x". The
/// boundary is `last` or the next binary64 number, whichever has fewer significant bits.
std::string end_of(double last) {
  const double next = std::nextafter(last, INFINITY);
  const bool inclusive = std::countr_zero(bits_of(last)) > std::countr_zero(bits_of(next));
  return inclusive ? fmt::format("<= {}", shown(last)) : fmt::format("< {}", shown(next));
}

struct Boundaries {
  double last_zero = 0;      ///< largest value that becomes zero
  double first_normal = 0;   ///< smallest value whose result is normal
  double last_in_range = 0;  ///< largest value that does not overflow
};

Boundaries measure(const Format& f, const Attributes& attributes) {
  return {
      before(first_where(
          [&](double x) { return decode(rounded(x, f, attributes).bits, f).kind != Kind::zero; })),
      first_where([&](double x) {
        const std::uint64_t bits = rounded(x, f, attributes).bits;
        return decode(bits, f).kind != Kind::zero && !is_subnormal(bits, f);
      }),
      before(first_where(
          [&](double x) { return (rounded(x, f, attributes).flags & Flag::overflow) != 0; })),
  };
}

/// Returns the boundaries by closed forms, for ties to even: half the smallest subnormal number (a
/// tie, which goes to zero, the even neighbour); half an ulp below the smallest normal number; and
/// half an ulp above the largest finite number, a tie that overflows only if it goes up.
Boundaries closed_form(const Format& f) {
  const double ulp = std::ldexp(1.0, f.emax() - f.fraction_bits());
  const double tie = value_of<double>(max_bits(f, false), f) + ulp / 2;
  return {std::ldexp(1.0, f.emin() - f.precision),
          std::ldexp(1.0, f.emin()) - std::ldexp(1.0, f.quantum_exponent() - 1),
          (f.max_significand() & 1) != 0 ? before(tie) : tie};
}

bool same(const Boundaries& a, const Boundaries& b) {
  return a.last_zero == b.last_zero && a.first_normal == b.first_normal &&
         a.last_in_range == b.last_in_range;
}

/// Rounds all midpoints between neighbouring positive numbers of a format. Returns how many were
/// tried and adds the number that were rounded wrongly to `wrong`.
std::uint64_t try_midpoints(const Format& f, std::uint64_t& wrong) {
  std::uint64_t tried = 0;
  for (std::uint64_t code = 0; code != max_bits(f, false) >> f.padding_bits; ++code) {
    const std::uint64_t low = code << f.padding_bits;
    const std::uint64_t high = (code + 1) << f.padding_bits;
    const double middle = (value_of<double>(low, f) + value_of<double>(high, f)) / 2;
    const std::uint64_t even = (code & 1) == 0 ? low : high;
    const bool right = rounded(middle, f, {}).bits == even &&
                       rounded(before(middle), f, {}).bits == low &&
                       rounded(std::nextafter(middle, INFINITY), f, {}).bits == high;
    wrong += right ? 0 : 1;
    ++tried;
  }
  return tried;
}

/// Returns a plot of the largest relative error of 4096 evenly spaced values in each binade.
Plot error_by_binade() {
  Plot plot{.title = "What rounding costs at each magnitude",
            .x_label = "|x|, by binade",
            .y_label = "largest relative error",
            .x_axis = Axis::log2,
            .y_axis = Axis::log2,

            .note =
                "Flat where results are normal; it doubles with each binade among the subnormal "
                "numbers and is 1 where values become zero. Curves end where values overflow."};
  for (const char* name : {"binary16", "bfloat16", "e4m3", "e5m2"}) {
    const Format f = *find_format(name);
    Series series{.name = name, .mark = Mark::steps};
    for (int e = -32; e <= 17; ++e) {
      double worst = 0;
      bool overflow = false;
      for (int i = 0; i < 4096 && !overflow; ++i) {
        const double x = std::ldexp(1 + i / 4096.0, e);
        const Projected result = rounded(x, f, {});
        overflow = (result.flags & Flag::overflow) != 0;
        if (!overflow) worst = std::max(worst, std::abs(value_of<double>(result.bits, f) / x - 1));
      }
      series.x.push_back(std::ldexp(1.0, e));
      series.y.push_back(overflow ? NAN : worst);
    }
    plot.series.push_back(series);
  }
  return plot;
}

Outcome run_boundary_atlas(const ExperimentInput& input) {
  Outcome out;
  out.data = nlohmann::ordered_json::object();
  bool closed_forms_hold = true;
  input.print(fmt::format("{:<10}{:<23}{:>17}{:>17}{:>17}\n", "format", "rounding", "to zero",
                          "not normal", "in range"));
  for (const NamedFormat& row : formats) {
    if (row.format == binary64 || !row.format.has_zero) continue;
    for (const Named& behaviour : behaviours) {
      const Boundaries b = measure(row.format, behaviour.attributes);
      if (behaviour.attributes == Attributes{}) {
        closed_forms_hold = closed_forms_hold && same(b, closed_form(row.format));
      }
      input.print(fmt::format("{:<10}{:<23}{:>17}{:>17}{:>17}\n", row.name, behaviour.label,
                              end_of(b.last_zero), end_of(before(b.first_normal)),
                              end_of(b.last_in_range)));
      out.data["boundaries"].push_back({{"format", row.name},
                                        {"rounding", behaviour.label},
                                        {"zero_up_to", b.last_zero},
                                        {"normal_from", b.first_normal},
                                        {"in_range_up_to", b.last_in_range}});
    }
  }
  std::uint64_t tried = 0;
  std::uint64_t wrong = 0;
  for (const NamedFormat& row : formats) {
    if (row.format.bits() <= 16 && row.format.has_zero) tried += try_midpoints(row.format, wrong);
  }
  constexpr double small = 6e-5;
  const std::uint64_t survivor = rounded(small, binary16, {}).bits;
  const std::uint64_t below_normal = bits_of({false, 1, 0}, binary16) - 1;
  const bool six_e_5_lives = is_subnormal(survivor, binary16);
  input.print(
      "\n" +
      wrapped(fmt::format("6e-5 in binary16 is {} (relative error {:.1e}), one of {} subnormal "
                          "numbers below 2^-14 = {:.4g}. Only flushed (FTZ) does it become zero. "
                          "{} midpoints of formats up to 16 bits tried, {} wrong.",
                          value_of<double>(survivor, binary16),
                          std::abs(value_of<double>(survivor, binary16) / 6e-5 - 1), below_normal,
                          std::ldexp(1.0, -14), tried, wrong),
              0));
  out.data["midpoints"] = {{"tried", tried}, {"wrong", wrong}};
  out.data["six_e_5"] = {
      {"binary16", value_of<double>(survivor, binary16)},
      {"flushed",
       value_of<double>(rounded(6e-5, binary16, behaviours[2].attributes).bits, binary16)}};
  out.plots = {error_by_binade()};
  out.as_expected = closed_forms_hold && six_e_5_lives && wrong == 0 && tried > 0;
  const Boundaries half = measure(binary16, {});
  out.measured = {{"zero", half.last_zero},
                  {"overflow", std::nextafter(half.last_in_range, INFINITY)},
                  {"small", small},
                  {"kept", value_of<double>(survivor, binary16)},
                  {"wrong", static_cast<double>(wrong)}};
  out.verdict = fmt::format(
      "binary16 loses values up to {} to zero, not up to 6e-5; the closed forms {}.",
      shown(half.last_zero), closed_forms_hold ? "hold in every format" : "do NOT hold");
  return out;
}

constexpr std::array<ExpectedFigure, 5> boundary_atlas_figures{{
    {"zero", "largest binary16 input that becomes 0", "2^-25", 0x1p-25, 0x1p-25},
    {"overflow", "smallest binary16 input that overflows", "65 520", 65520, 65520},
    {"small", "the number said to become 0", "6e-5", 6e-5, 6e-5, true},
    {"kept", "what it becomes in binary16", "6.002e-5", 6.0015e-5, 6.0025e-5},
    {"wrong", "midpoints that go to the odd side", "no", 0, 0},
}};

}  // namespace

extern const Experiment boundary_atlas{
    "boundary_atlas",
    "At which magnitudes does a value become zero, subnormal, normal or overflow in each format? "
    "(6e-5 is not where FP16 underflows to zero.)",
    "Under ties to even binary16 loses values up to 2^-25 to zero, not up to 6e-5.",
    {"Ties to even: zero up to half the smallest subnormal number inclusive ({zero} in binary16), "
     "overflow from half an ulp above the largest finite number ({overflow}), and {wrong} midpoint "
     "of a format up to two bytes goes to the odd side. {small} becomes {kept}, a subnormal "
     "binary16 number, unless results are flushed.",
     boundary_atlas_figures},
    &run_boundary_atlas};

}  // namespace binade
