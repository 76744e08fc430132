// SPDX-License-Identifier: Apache-2.0
//
// Changes of the scales that a rule makes, tried on a sample first.
#include "lib/scales/suspected_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "lib/format/format_spec.h"
#include "lib/number/spread_places.h"

namespace binade {
namespace {

using block_steps::largest_of;

/// How far apart two codes of scales are whose numbers differ by a factor of two.
std::int64_t step_of_binade(const Format& scale) {
  return std::int64_t{1} << scale.fraction_bits();
}

/// The difference of codes that most blocks have.
std::int64_t usual_distance(std::span<const std::uint32_t> made,
                            std::span<const std::uint32_t> stored) {
  std::map<std::int64_t, std::size_t> counts;
  for (const std::size_t i : spread_places(made.size(), 4096)) {
    ++counts[std::int64_t{stored[i]} - std::int64_t{made[i]}];
  }
  const auto most = std::ranges::max_element(
      counts, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

/// A factor that is found by these scales themselves is told of so many at least.
constexpr std::size_t least_scales = 8;

/// The ratio of stored scales to made ones, numbers of binary32, in the middle of a sample.
double usual_ratio(std::span<const std::uint32_t> made, std::span<const std::uint32_t> stored) {
  std::vector<double> out;
  for (const std::size_t i : spread_places(made.size(), 255)) {
    const double ratio = std::bit_cast<float>(stored[i]) / double{std::bit_cast<float>(made[i])};
    if (ratio > 0) out.push_back(ratio);
  }
  if (out.empty()) return 0;
  const auto middle = out.begin() + std::ssize(out) / 2;
  std::ranges::nth_element(out, middle);
  return *middle;
}

/// ", as of amax / 224": of scales that are numbers, by what the amax was divided.
std::string over_words(const ReadingWork& work, int power) {
  if (work.format().scale != binary32 || std::abs(power) > 8) return "";
  return fmt::format(", as of amax / {:g}",
                     std::ldexp(std::bit_cast<float>(largest_of(work.format().element)), -power));
}

/// Constants that stacks multiply and divide scales by.
constexpr std::array<std::uint32_t, 9> known_constants{
    0x40C00000 /* 6 */,   0x43E00000 /* 448 */,   0x45280000 /* 2688 */,
    0x43700000 /* 240 */, 0x47600000 /* 57344 */, 0x42FE0000 /* 127 */,
    0x3FC00000 /* 1.5 */, 0x43800000 /* 256 */,   0x44C00000 /* 1536 */};

/// The element formats for which scales may have been made that stand beside others' codes.
constexpr std::array<Format, 4> other_elements{e4m3, e5m2, e4m3fnuz, e5m2fnuz};

/// A search for changes of scales.
class ScaleChanges {
 public:
  explicit ScaleChanges(const KeptScales& kept) : kept_(&kept) {}

  /// Scales that are made for another element format.
  void try_elements(const ReadingWork& work, const SuspectedScales& x,
                    std::span<const std::uint32_t> made, const StoredScales& stored) const {
    const Format& own = work.format().element;
    const bool is_power = work.format().scale == e8m0;
    // A power of two between few scales is no evidence; a number of binary32 is.
    if (work.format().tensor_scale || own.bits() < 8 || work.format().twos_complement ||
        (is_power && stored.codes.size() < least_scales)) {
      return;
    }
    for (const Format& other : other_elements) {
      const bool same = largest_of(other) == largest_of(own);
      if (same || x.rule->rule.four_or_six != FourOrSix::six) continue;
      SuspectedScales out = x;
      out.element = other;
      out.kind = "other_element";
      const BlockScales others = scales_for(work, *x.rule, x.tensor.scale, other);
      const std::int64_t power = is_power ? usual_distance(made, others.codes) : 0;
      out.words = fmt::format("scales {}for codes of {}, whose largest number is {:g}",
                              power == 0 ? "" : fmt::format("times 2^{}, as ", power),
                              format_name(other), std::bit_cast<float>(largest_of(other)));
      kept_->keep(std::move(out), work.format().scale, others.codes, stored);
    }
  }

  void try_changes(const ReadingWork& work, const SuspectedScales& x,
                   std::span<const std::uint32_t> made, const StoredScales& stored) const {
    using namespace block_steps;
    const Format& scale = work.format().scale;
    kept_->keep_changed(x, stored, {"reciprocal", "stored is 1/scale"}, [&](std::size_t i) {
      if (scale == e8m0) return made[i] > 254 ? made[i] : 254 - made[i];
      const auto number = static_cast<std::uint32_t>(convert(made[i], scale, binary32).bits);
      return static_cast<std::uint32_t>(
          convert(over(one, number), binary32, scale, {.saturation = Saturation::finite}).bits);
    });
    if (scale == e8m0) {
      kept_->keep_changed(
          x, stored, {"no_bias", "stored is the exponent, without the bias of 127"},
          [&](std::size_t i) { return made[i] == 255 ? 128 : (made[i] - 127) & 0xFF; });
    }
    try_factors(work, x, made, stored);
    const std::vector<std::uint64_t>& shape = work.reading().view.scale_shape;
    const auto columns = static_cast<std::ptrdiff_t>(shape.empty() ? 1 : shape.back());
    const auto try_shift = [&](std::ptrdiff_t by, std::string_view from) {
      kept_->keep_changed(x, stored,
                          {"other_block", fmt::format("each block has the scale of the {}", from)},
                          [&](std::size_t i) {
                            const auto at = static_cast<std::ptrdiff_t>(i) + by;
                            const bool is_in = at >= 0 && at < std::ssize(made);
                            return is_in ? made[static_cast<std::size_t>(at)] : ~stored.codes[i];
                          });
    };
    try_shift(1, "next block");
    try_shift(-1, "previous block");
    if (columns > 1) {
      try_shift(columns, "next row");
      try_shift(-columns, "previous row");
    }
    try_rows(x, made, stored, static_cast<std::size_t>(columns));
  }

 private:
  /// A constant between all scales and the stored ones, or numbers of binary32 that are something
  /// else.
  void try_factors(const ReadingWork& work, const SuspectedScales& x,
                   std::span<const std::uint32_t> made, const StoredScales& stored) const {
    using namespace block_steps;
    const Format& scale = work.format().scale;
    const std::int64_t distance = usual_distance(made, stored.codes), step = step_of_binade(scale);
    const bool are_enough = made.size() >= least_scales;
    if (distance != 0 && distance % step == 0 && (are_enough || scale == binary32)) {
      const auto power = static_cast<int>(distance / step);
      kept_->keep_changed(
          x, stored,
          {"factor", fmt::format("scales times 2^{}{}", power, over_words(work, power)),
           std::ldexp(1.0, power)},
          [&](std::size_t i) { return static_cast<std::uint32_t>(made[i] + distance); });
    }
    if (distance != 0 && distance % step != 0 && are_enough && scale.bits() <= 8) {
      kept_->keep_changed(
          x, stored,
          {"code_offset", fmt::format("the code of each scale is {} {}", std::abs(distance),
                                      distance > 0 ? "above" : "below")},
          [&](std::size_t i) { return static_cast<std::uint32_t>(made[i] + distance); });
    }
    if (scale != binary32 || made.empty()) return;
    const std::vector<std::uint32_t>& amaxes = work.amaxes(x.rule->rule);
    kept_->keep_changed(x, stored, {"amax", "stored is the amax of each block"},
                        [&](std::size_t i) { return amaxes[i]; });
    for (const Format& narrow : {bfloat16, binary16}) {
      kept_->keep_changed(x, stored,
                          {"reciprocal_rounded",
                           fmt::format("stored is 1/scale, rounded to {}", format_name(narrow))},
                          [&](std::size_t i) { return held_scale(over(one, made[i]), narrow); });
      for (const Rounding rounding : {Rounding::ties_to_even, Rounding::toward_zero}) {
        kept_->keep_changed(
            x, stored,
            {"scales_rounded",
             fmt::format("scales rounded to {}, {}", format_name(narrow), rounding_name(rounding))},
            [&](std::size_t i) {
              const std::uint64_t held =
                  convert(made[i], binary32, narrow, {.rounding = rounding}).bits;
              return static_cast<std::uint32_t>(convert(held, narrow, binary32).bits);
            });
      }
    }
    const auto number = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
    try_divisors(x, largest_of(work.format().element), amaxes, stored);
    const double ratio = usual_ratio(made, stored.codes);
    const auto is_near = [&](double factor) { return std::abs(ratio / factor - 1) < 0.01; };
    for (const std::uint32_t constant : known_constants) {
      const double factor = number(constant);
      if (is_near(factor)) {
        kept_->keep_changed(x, stored, {"factor", fmt::format("scales times {:g}", factor), factor},
                            [&](std::size_t i) { return times(made[i], constant); });
      }
      if (is_near(1 / factor)) {
        kept_->keep_changed(x, stored,
                            {"factor", fmt::format("scales divided by {:g}", factor), 1 / factor},
                            [&](std::size_t i) { return over(made[i], constant); });
      }
    }
    const auto measured = std::bit_cast<std::uint32_t>(static_cast<float>(ratio));
    if (!are_enough || ratio == 0 || measured == one || measured >= infinity) return;
    kept_->keep_changed(x, stored,
                        {"factor", fmt::format("scales times about {:.6g}", ratio), ratio},
                        [&](std::size_t i) { return times(made[i], measured); });
  }

  /// Numbers of binary32 that are the amax of each block over another number than the largest one,
  /// a multiple of 1/8.
  void try_divisors(const SuspectedScales& x, std::uint32_t most_bits,
                    std::span<const std::uint32_t> amaxes, const StoredScales& stored) const {
    using namespace block_steps;
    const double ratio = usual_ratio(stored.codes, amaxes), divisor = std::round(8 * ratio) / 8;
    const double most = std::bit_cast<float>(most_bits);
    if (!(divisor >= 0.125 && divisor < 1e6) || std::abs(ratio / divisor - 1) > 1e-5) return;
    const auto is_largest = [&](const Format& f) {
      return divisor == double{std::bit_cast<float>(largest_of(f))};
    };
    // What is a power of two away is told as such.
    const bool is_power_away = std::exp2(std::round(std::log2(most / divisor))) == most / divisor;
    if (is_power_away || std::ranges::any_of(other_elements, is_largest)) return;
    const auto by = std::bit_cast<std::uint32_t>(static_cast<float>(divisor));
    const ScaleChange change{"factor", fmt::format("stored is amax / {:g}", divisor),
                             most / divisor};
    kept_->keep_changed(x, stored, change, [&](std::size_t i) { return over(amaxes[i], by); });
    kept_->keep_changed(x, stored, change,
                        [&](std::size_t i) { return times(amaxes[i], over(one, by)); });
  }

  /// Rows that alone differ: whether their scales are those of neighbours, or of another row.
  void try_rows(const SuspectedScales& x, std::span<const std::uint32_t> made,
                const StoredScales& stored, std::size_t columns) const {
    const std::size_t rows = columns == 0 ? 0 : made.size() / columns;
    if (rows < 2 || columns < 2) return;
    const auto is_same = [&](std::size_t at, std::size_t from) {
      return held_scale(made[from], stored.held) == stored.codes[at];
    };
    std::vector<std::size_t> odd;
    for (std::size_t r = 0; r < rows && odd.size() <= rows / 8 + 1; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        if (is_same(r * columns + c, r * columns + c)) continue;
        odd.push_back(r);
        break;
      }
    }
    if (odd.empty() || odd.size() > rows / 8 + 1 || odd.size() == rows) return;
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(odd.size(), 4); ++i) {
      list += (i == 0 ? "" : ", ") + std::to_string(odd[i]);
    }
    const std::string where = fmt::format("{} {}{} of scales", odd.size() == 1 ? "row" : "rows",
                                          list, odd.size() > 4 ? ", …" : "");
    // How likely scales drawn at random, each as often as it was made, would be those of a row.
    std::map<std::uint32_t, double> counts;
    for (const std::uint32_t code : made) ++counts[held_scale(code, stored.held)];
    const auto chance_of_row = [&](std::size_t r) {
      double out = 1;
      for (std::size_t c = 0; c < columns; ++c) {
        const auto found = counts.find(stored.codes[r * columns + c]);
        out *= found == counts.end() ? 1 : found->second / static_cast<double>(made.size());
      }
      return out;
    };
    constexpr double never = 1e-3;
    double by_chance = 1;
    for (const std::size_t r : odd) by_chance *= chance_of_row(r);
    const auto keep_rows = [&](const auto& from_of, const std::string& words) {
      kept_->keep_changed(x, stored, {"rows", words}, [&](std::size_t i) {
        const std::size_t r = i / columns;
        return std::ranges::find(odd, r) == odd.end() ? made[i] : made[from_of(r, i % columns)];
      });
    };
    for (const std::size_t by : {std::size_t{1}, columns - 1}) {
      if (by_chance > never) break;
      keep_rows(
          [&](std::size_t r, std::size_t c) { return r * columns + (c + by) % columns; },
          fmt::format("{}: each the scale of the {} block", where, by == 1 ? "next" : "previous"));
    }
    // Of few scales some other row is alike by chance.
    constexpr std::size_t least_unequal = 3;
    std::size_t unequal = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      unequal += is_same(odd[0] * columns + c, odd[0] * columns + c) ? 0U : 1U;
    }
    const bool is_another = odd.size() == 1 && unequal >= std::max(least_unequal, columns / 2) &&
                            by_chance * static_cast<double>(rows) < never;
    for (std::size_t other = 0; is_another && other < rows; ++other) {
      bool same = other != odd[0];
      for (std::size_t c = 0; same && c < columns; ++c) {
        same = is_same(odd[0] * columns + c, other * columns + c);
      }
      if (!same) continue;
      keep_rows([&](std::size_t, std::size_t c) { return other * columns + c; },
                fmt::format("{}: those of row {}", where, other));
      break;
    }
  }

  const KeptScales* kept_;
};

}  // namespace

void try_scale_changes(const KeptScales& kept, const ReadingWork& work, const SuspectedScales& x,
                       std::span<const std::uint32_t> made, const StoredScales& stored) {
  const ScaleChanges changes(kept);
  changes.try_elements(work, x, made, stored);
  changes.try_changes(work, x, made, stored);
}

}  // namespace binade
