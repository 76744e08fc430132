// SPDX-License-Identifier: Apache-2.0
//
// Question: how often does rounding through a format in the middle give another result than
// rounding once? Let m be the midpoint of two neighbours of the destination. It is a number of the
// middle format, with an even significand, so every value within half an ulp of the middle format
// becomes m, which is a tie and goes to the even neighbour: this is wrong for the values on one
// side of m. The share of wrong values is half an ulp of the middle format in one ulp of the
// destination:
//
//     2^-(p_mid - p_dst + 1)
//
// Rounding to odd in the middle never moves a value onto a midpoint, so that the second rounding is
// right (Boldo and Melquiond 2008; p_mid >= p_dst + 2). The bound p_mid >= 2·p_dst + 2, from which
// double rounding is innocuous, is for the results of + − × ÷ √, not for conversions.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "emulate/carrier.h"
#include "experiments/draws.h"
#include "lib/parallel/parallel.h"
#include "lib/runs/experiment.h"

namespace binade {
namespace {

struct Chain {
  const char* name;
  Format source, middle, destination;
  const char* pilot;
};
constexpr std::array<Chain, 4> chains{{
    {"f64 -> f32 -> f16", binary64, binary32, binary16, "1/16 077"},
    {"f32 -> f16 -> e4m3", binary32, binary16, e4m3, "1/259"},
    {"f32 -> bf16 -> e4m3", binary32, bfloat16, e4m3, "1/32"},
    {"f64 -> f32 -> bf16", binary64, binary32, bfloat16, "1/152 672"},
}};

std::uint64_t once(std::uint64_t x, const Chain& chain) {
  return convert(x, chain.source, chain.destination).bits;
}

std::uint64_t twice(std::uint64_t x, const Chain& chain, Rounding in_the_middle) {
  const std::uint64_t middle =
      convert(x, chain.source, chain.middle, {.rounding = in_the_middle}).bits;
  return convert(middle, chain.middle, chain.destination).bits;
}

/// How many of the values have another result when they are rounded twice instead of once.
struct Tally {
  std::uint64_t values = 0;
  std::uint64_t wrong = 0;      ///< with rounding to nearest in the middle
  std::uint64_t odd_wrong = 0;  ///< with rounding to odd in the middle

  void add(std::uint64_t x, const Chain& chain) {
    const std::uint64_t right = once(x, chain);
    values += 1;
    wrong += twice(x, chain, Rounding::ties_to_even) != right ? 1 : 0;
    odd_wrong += twice(x, chain, Rounding::to_odd) != right ? 1 : 0;
  }
};

/// Tallies `count` values, on all threads; make(i) returns the encoding of value i.
template <class Make>
Tally tally_of(const Chain& chain, std::size_t count, const Make& make) {
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> odd_wrong{0};
  parallel_for(count, std::size_t{1} << 11, [&](std::size_t begin, std::size_t end, std::size_t) {
    Tally part;
    for (std::size_t i = begin; i < end; ++i) part.add(make(i), chain);
    wrong += part.wrong;
    odd_wrong += part.odd_wrong;
  });
  return {count, wrong, odd_wrong};
}

double law(int p_middle, int p_destination) {
  return std::ldexp(1.0, -(p_middle - p_destination + 1));
}

/// Writes a rate as "1/n".
std::string one_in(double rate) { return rate == 0 ? "0" : fmt::format("1/{:.6g}", 1 / rate); }

double rate_of(const Tally& x) {
  return static_cast<double>(x.wrong) / static_cast<double>(x.values);
}

/// Tallies random values: their significands, signs and exponents are uniform over the
/// destination's normal range without its top binade, whose last encoding may be a NaN.
Tally try_at_random(const Chain& chain, std::size_t count, std::uint64_t stream) {
  const Format& f = chain.source;
  const Format& to = chain.destination;
  const auto range = static_cast<std::uint64_t>(to.emax() - to.emin());
  return tally_of(chain, count, [&](std::size_t i) {
    const std::array<std::uint32_t, 4> words = random_words(2013, stream, i);
    const std::uint64_t fraction = (std::uint64_t{words[0]} << 32 | words[1]) & f.fraction_mask();
    const auto exponent = static_cast<int>(words[2] % range) + to.emin();
    return bits_of({(words[3] & 1) != 0, static_cast<std::uint64_t>(exponent + f.bias), fraction},
                   f);
  });
}

/// Tries the four chains on random numbers. Returns whether each rate is within four standard
/// deviations of the law.
bool tell_random(const ExperimentInput& input, Outcome& out) {
  Table table{"Random numbers in the destination's normal range",
              {"chain", "law", "measured before", "values", "wrong", "measured",
               "deviations from the law", "to odd: wrong"},
              {}};
  Plot plot{"The law of double rounding",
            "p_mid - p_dst",
            "share rounded wrongly",
            Axis::linear,
            Axis::log2,
            {},
            "Bars of one binomial deviation around each measured share."};
  Series predicted{"2^-(p_mid - p_dst + 1)", {}, {}, Mark::line};
  Series measured{"measured", {}, {}, Mark::points};
  Series high{"measured + deviation", {}, {}, Mark::points};
  Series low{"measured - deviation", {}, {}, Mark::points};
  for (int gap = 2; gap <= 18; ++gap) {
    predicted.x.push_back(gap);
    predicted.y.push_back(law(gap, 0));
  }
  bool as_said = true;
  const std::size_t count = std::size_t{1} << (input.quick ? 21 : 25);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const Chain& chain = chains[i];
    if (input.progress) input.progress(static_cast<double>(i) / chains.size(), chain.name);
    const Tally tally = try_at_random(chain, count, i);
    const double expected = law(chain.middle.precision, chain.destination.precision);
    const double n = static_cast<double>(tally.values);
    const double deviation = std::sqrt(n * expected * (1 - expected));
    const double off = (static_cast<double>(tally.wrong) - n * expected) / deviation;
    as_said = as_said && std::abs(off) < 4 && tally.odd_wrong == 0;
    table.rows.push_back({chain.name, one_in(expected), chain.pilot, std::to_string(tally.values),
                          std::to_string(tally.wrong), one_in(rate_of(tally)),
                          fmt::format("{:+.2f}", off), std::to_string(tally.odd_wrong)});
    const double gap = chain.middle.precision - chain.destination.precision;
    for (Series* series : {&measured, &high, &low}) series->x.push_back(gap);
    measured.y.push_back(rate_of(tally));
    high.y.push_back(rate_of(tally) + deviation / n);
    low.y.push_back(rate_of(tally) - deviation / n);
    out.data["random"].push_back({{"chain", chain.name},
                                  {"law", expected},
                                  {"values", tally.values},
                                  {"wrong", tally.wrong},
                                  {"deviations_off", off},
                                  {"to_odd_wrong", tally.odd_wrong}});
  }
  out.tables.push_back(std::move(table));
  plot.series = {predicted, measured, high, low};
  out.plots.push_back(std::move(plot));
  return as_said;
}

/// Tries all floats of some binades on the chains to e4m3, which has fewer bits of precision in its
/// subnormal binades. Returns whether each rate is exactly that of the law.
bool tell_exhaustive(const ExperimentInput& input, Outcome& out) {
  Table table{
      "Every float of a binade, through the middle into e4m3",
      {"chain", "binade", "bits left", "law", "values", "wrong", "measured", "to odd: wrong"},
      {}};
  bool as_said = true;
  const std::vector<int> binades = input.quick ? std::vector{0} : std::vector{0, -1, -7, -8, 7};
  for (const Chain& chain : {chains[1], chains[2]}) {
    for (const int binade : binades) {
      const std::uint64_t first = bits_of(std::ldexp(1.0F, binade));
      const Tally tally =
          tally_of(chain, std::size_t{1} << 23, [&](std::size_t i) { return first + i; });
      const int left =
          std::min(chain.destination.precision, binade - chain.destination.quantum_exponent() + 1);
      const double expected = law(chain.middle.precision, left);
      as_said = as_said && rate_of(tally) == expected && tally.odd_wrong == 0;
      table.rows.push_back({chain.name, fmt::format("2^{}", binade), std::to_string(left),
                            one_in(expected), std::to_string(tally.values),
                            std::to_string(tally.wrong), one_in(rate_of(tally)),
                            std::to_string(tally.odd_wrong)});
      out.data["exhaustive"].push_back({{"chain", chain.name},
                                        {"binade", binade},
                                        {"law", expected},
                                        {"values", tally.values},
                                        {"wrong", tally.wrong},
                                        {"to_odd_wrong", tally.odd_wrong}});
    }
  }
  out.tables.push_back(std::move(table));
  return as_said;
}

/// The result of trying, around every midpoint of the destination: the midpoint, the numbers of the
/// source next to it, the ends of the interval that the middle format rounds to the midpoint, and
/// the numbers next to these outside. The law predicts which are rounded wrongly: those between the
/// midpoint (excluded) and the end of the interval (included) on the side of the odd neighbour.
struct Ties {
  std::uint64_t midpoints = 0;
  Tally tally;
  std::uint64_t not_as_pictured = 0;
};

Ties try_ties(const Chain& chain) {
  Ties out;
  const Format& f = chain.source;
  const Format& to = chain.destination;
  const auto encoding = [&f](double x) { return convert(bits_of(x), binary64, f).bits; };
  for (std::uint64_t code = min_bits(to, false); code < max_bits(to, false); ++code) {
    poll();
    if (is_subnormal(code, to)) continue;
    const double low = value_of<double>(code, to);
    const double high = value_of<double>(code + 1, to);
    const double middle = (low + high) / 2;
    const double end = std::ldexp(high - low, -(chain.middle.precision - to.precision + 1));
    const double odd_side = (code & 1) != 0 ? -1 : 1;
    const double step = std::ldexp(1.0, std::ilogb(low) - f.fraction_bits());
    out.midpoints += 1;
    const std::array<double, 4> distances{0, step, end, end + step};
    for (const double side : {-1.0, 1.0}) {
      for (const double distance : distances) {
        const std::uint64_t x = encoding(middle + side * distance);
        const std::uint64_t before = out.tally.wrong;
        out.tally.add(x, chain);
        const bool pictured = side == odd_side && distance > 0 && distance <= end;
        out.not_as_pictured += pictured != (out.tally.wrong != before) ? 1 : 0;
      }
    }
  }
  return out;
}

bool tell_ties(Outcome& out) {
  Table table{"Every midpoint of the destination and what lies around it",
              {"chain", "midpoints", "values", "wrong", "not as the law says", "to odd: wrong"},
              {}};
  bool as_said = true;
  for (const Chain& chain : chains) {
    const Ties ties = try_ties(chain);
    as_said = as_said && ties.midpoints > 0 && ties.not_as_pictured == 0 &&
              ties.tally.odd_wrong == 0 && ties.tally.wrong == 2 * ties.midpoints;
    table.rows.push_back({chain.name, std::to_string(ties.midpoints),
                          std::to_string(ties.tally.values), std::to_string(ties.tally.wrong),
                          std::to_string(ties.not_as_pictured),
                          std::to_string(ties.tally.odd_wrong)});
    out.data["ties"].push_back({{"chain", chain.name},
                                {"midpoints", ties.midpoints},
                                {"values", ties.tally.values},
                                {"wrong", ties.tally.wrong},
                                {"other_than_pictured", ties.not_as_pictured},
                                {"to_odd_wrong", ties.tally.odd_wrong}});
  }
  out.tables.push_back(std::move(table));
  return as_said;
}

Outcome run_double_rounding(const ExperimentInput& input) {
  Outcome out;
  const bool random = tell_random(input, out);
  const bool exhaustive = tell_exhaustive(input, out);
  const bool ties = tell_ties(out);
  const auto rate = [&out](const char* part, std::size_t i) {
    const auto& row = out.data[part][i];
    return row["wrong"].get<double>() / row["values"].get<double>();
  };
  const std::size_t binades = out.data["exhaustive"].size() / 2;
  std::uint64_t odd = 0;
  for (const char* part : {"random", "exhaustive", "ties"}) {
    for (const auto& row : out.data[part]) odd += row["to_odd_wrong"].get<std::uint64_t>();
  }
  out.measured = {{"f64_f16", rate("random", 0)},
                  {"f64_bf16", rate("random", 3)},
                  {"f16_e4m3", rate("exhaustive", 0)},
                  {"bf16_e4m3", rate("exhaustive", binades)},
                  {"odd", static_cast<double>(odd)}};
  out.as_expected = random && exhaustive && ties;
  out.verdict = fmt::format(
      "random numbers {} the law within four deviations, whole binades {} it exactly, and around "
      "every midpoint {} is rounded wrongly; {}.",
      random ? "follow" : "do NOT follow", exhaustive ? "follow" : "do NOT follow",
      ties ? "exactly what the law says" : "something else",
      out.as_expected ? "with rounding to odd in the middle, nothing is" : "see the tables");
  return out;
}

constexpr std::array<ExpectedFigure, 5> double_rounding_figures{{
    {"f64_f16", "f64 -> f32 -> f16, random", "1/16384", 0.91 * 0x1p-14, 1.09 * 0x1p-14},
    {"f64_bf16", "f64 -> f32 -> bf16, random", "1/131072", 0.75 * 0x1p-17, 1.25 * 0x1p-17},
    {"f16_e4m3", "f32 -> f16 -> e4m3, a whole binade", "1/256", 0x1p-8, 0x1p-8},
    {"bf16_e4m3", "f32 -> bf16 -> e4m3, a whole binade", "1/32", 0x1p-5, 0x1p-5},
    {"odd", "wrong with rounding to odd in the middle", "no", 0, 0},
}};

constexpr std::array<ExpectedFigure, 2> double_rounding_quick{{
    {"f64_f16", "f64 -> f32 -> f16, random", "1/16384", 0.65 * 0x1p-14, 1.35 * 0x1p-14},
    {"f64_bf16", "f64 -> f32 -> bf16, random", "1/131072", 0, 2 * 0x1p-17},
}};

}  // namespace

constexpr std::string_view double_rounding_said =
    "If p_mid and p_dst are the precisions of the format in the middle and of the destination, one "
    "in two to the power p_mid - p_dst + one of generic numbers is rounded wrongly: {f64_f16} for "
    "f64 -> f32 -> f16, {f16_e4m3} for f32 -> f16 -> e4m3, {bf16_e4m3} for f32 -> bf16 -> e4m3, "
    "{f64_bf16} for f64 -> f32 -> bf16; with rounding to odd in the middle {odd} number is.";

extern const Experiment double_rounding{
    "double_rounding",
    "How often does rounding to nearest through a format in the middle differ from rounding once?",
    "Exactly 1 in 2^(p_mid − p_dst + 1) is wrong, and none where the rounding in the middle is to "
    "odd.",
    {double_rounding_said, double_rounding_figures},
    &run_double_rounding,
    false,
    {{}, double_rounding_quick}};

}  // namespace binade
