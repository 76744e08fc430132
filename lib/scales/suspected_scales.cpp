// SPDX-License-Identifier: Apache-2.0
//
// Each suspicion is compared on a sample, and where half of it is equal, on all blocks.
#include "lib/scales/suspected_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <span>

#include "lib/format/format_spec.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

using block_steps::largest_of;

/// What may have been done to scales.
struct ScaleChange {
  std::string_view kind;
  std::string words;
  double factor = 0;  ///< 0: none
};

constexpr std::array<std::string_view, 3> words_of_taken{"", "numbers rounded to bfloat16 first",
                                                         "numbers rounded to binary16 first"};

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

/// A search for suspicions of scales.
class ScaleSuspicions {
 public:
  explicit ScaleSuspicions(std::vector<SuspectedScales>& out) : out_(&out) {}

  /// Tries all changes of the scales that a rule makes of these numbers.
  void try_rule(const ReadingWork& work, std::size_t reading, const NamedScaleRule& rule,
                NumbersTaken taken, std::span<const StoredScales> stored) const {
    const bool as_given = taken == NumbersTaken::as_given;
    const auto choices = tensor_scale_choices(work, rule, true);
    for (const TensorScaleChoice& tensor : choices) {
      const bool is_plain = as_given && &tensor == &choices[0];
      const bool is_chosen = rule.rule.four_or_six != FourOrSix::six;
      // Changes may make right what is far off, but none of them takes long.
      const bool is_near =
          sampled_scales(work, work.steps(rule), tensor.scale, stored).share() >= 0.5;
      if (!is_near && (is_chosen || !is_plain)) continue;
      const BlockScales made = work.scales(work.steps(rule), tensor.scale);
      for (std::size_t order = 0; order < stored.size(); ++order) {
        SuspectedScales x{reading, order, &rule, tensor, taken, {}};
        x.weight = stored[order].weight();
        x.words = joined_words(
            {taken_words(taken), tensor.fit == TensorScaleFit::imagined ? tensor.words : ""});
        x.kind = as_given ? "tensor_scale" : "numbers_rounded";
        if (!x.words.empty()) keep(x, scales_agree(work.format().scale, made.codes, stored[order]));
        if (!is_plain) continue;
        try_elements(work, x, stored[order]);
        try_changes(work, x, made.codes, stored[order]);
      }
    }
    if (as_given) try_groups(work, reading, rule, choices[0], stored);
    if (as_given) try_stack(work, reading, rule, stored);
  }

 private:
  void keep(SuspectedScales x, const ScaleAgreement& scales) const {
    x.scales = scales;
    if (x.speaks() >= 0.5) out_->push_back(std::move(x));
  }

  /// Compares changed(block) with what is stored, of all blocks if half of a sample is equal.
  void keep_changed(const SuspectedScales& x, const StoredScales& stored, const ScaleChange& change,
                    const auto& changed) const {
    const auto add = [&](std::size_t i, ScaleAgreement& scales) {
      ++scales.of;
      if (held_scale(changed(i), stored.held) == stored.codes[i]) {
        ++scales.equal;
        scales.zeros += stored.codes[i] == 0 ? 1 : 0;
      } else if (!scales.first) {
        scales.first = i;
      }
    };
    ScaleAgreement some;
    for (const std::size_t i : sampled_blocks(stored.codes.size())) add(i, some);
    if (some.speaks() < 0.5 && some.of > some.zeros) return;
    SuspectedScales out = x;
    out.words = joined_words({change.words, x.words});
    out.kind = change.kind;
    out.factor = change.factor;
    ScaleAgreement scales;
    for (std::size_t i = 0; i < stored.codes.size(); ++i) add(i, scales);
    keep(std::move(out), scales);
  }

  /// Scales that are made for another element format.
  void try_elements(const ReadingWork& work, const SuspectedScales& x,
                    const StoredScales& stored) const {
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
      out.words = fmt::format("scales for codes of {}, whose largest number is {:g}",
                              format_name(other), std::bit_cast<float>(largest_of(other)));
      const BlockScales made = scales_for(work, *x.rule, x.tensor.scale, other);
      keep(std::move(out), scales_agree(work.format().scale, made.codes, stored));
    }
  }

  void try_changes(const ReadingWork& work, const SuspectedScales& x,
                   std::span<const std::uint32_t> made, const StoredScales& stored) const {
    using namespace block_steps;
    const Format& scale = work.format().scale;
    keep_changed(x, stored, {"reciprocal", "stored is 1/scale"}, [&](std::size_t i) {
      if (scale == e8m0) return made[i] > 254 ? made[i] : 254 - made[i];
      const auto number = static_cast<std::uint32_t>(convert(made[i], scale, binary32).bits);
      return static_cast<std::uint32_t>(
          convert(over(one, number), binary32, scale, {.saturation = Saturation::finite}).bits);
    });
    if (scale == e8m0) {
      keep_changed(x, stored, {"no_bias", "stored is the exponent, without the bias of 127"},
                   [&](std::size_t i) { return made[i] == 255 ? 128 : (made[i] - 127) & 0xFF; });
    }
    try_factors(work, x, made, stored);
    const std::vector<std::uint64_t>& shape = work.reading().view.scale_shape;
    const auto columns = static_cast<std::ptrdiff_t>(shape.empty() ? 1 : shape.back());
    const auto try_shift = [&](std::ptrdiff_t by, std::string_view from) {
      keep_changed(x, stored,
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
      keep_changed(x, stored,
                   {"factor", fmt::format("scales times 2^{}{}", power, over_words(work, power)),
                    std::ldexp(1.0, power)},
                   [&](std::size_t i) { return static_cast<std::uint32_t>(made[i] + distance); });
    }
    if (distance != 0 && distance % step != 0 && are_enough && scale.bits() <= 8) {
      keep_changed(
          x, stored,
          {"code_offset", fmt::format("the code of each scale is {} {}", std::abs(distance),
                                      distance > 0 ? "above" : "below")},
          [&](std::size_t i) { return static_cast<std::uint32_t>(made[i] + distance); });
    }
    if (scale != binary32 || made.empty()) return;
    const std::vector<std::uint32_t>& amaxes = work.amaxes(x.rule->rule);
    keep_changed(x, stored, {"amax", "stored is the amax of each block"},
                 [&](std::size_t i) { return amaxes[i]; });
    for (const Format& narrow : {bfloat16, binary16}) {
      for (const Rounding rounding : {Rounding::ties_to_even, Rounding::toward_zero}) {
        keep_changed(x, stored,
                     {"scales_rounded", fmt::format("scales rounded to {}, {}", format_name(narrow),
                                                    rounding_name(rounding))},
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
        keep_changed(x, stored, {"factor", fmt::format("scales times {:g}", factor), factor},
                     [&](std::size_t i) { return times(made[i], constant); });
      }
      if (is_near(1 / factor)) {
        keep_changed(x, stored,
                     {"factor", fmt::format("scales divided by {:g}", factor), 1 / factor},
                     [&](std::size_t i) { return over(made[i], constant); });
      }
    }
    const auto measured = std::bit_cast<std::uint32_t>(static_cast<float>(ratio));
    if (!are_enough || ratio == 0 || measured == one || measured >= infinity) return;
    keep_changed(x, stored, {"factor", fmt::format("scales times about {:.6g}", ratio), ratio},
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
    keep_changed(x, stored, change, [&](std::size_t i) { return over(amaxes[i], by); });
    keep_changed(x, stored, change, [&](std::size_t i) { return times(amaxes[i], over(one, by)); });
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
    const auto keep_rows = [&](const auto& from_of, const std::string& words) {
      keep_changed(x, stored, {"rows", words}, [&](std::size_t i) {
        const std::size_t r = i / columns;
        return std::ranges::find(odd, r) == odd.end() ? made[i] : made[from_of(r, i % columns)];
      });
    };
    for (const std::size_t by : {std::size_t{1}, columns - 1}) {
      keep_rows(
          [&](std::size_t r, std::size_t c) { return r * columns + (c + by) % columns; },
          fmt::format("{}: each the scale of the {} block", where, by == 1 ? "next" : "previous"));
    }
    for (std::size_t other = 0; odd.size() == 1 && other < rows; ++other) {
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

  /// Scales of blocks under one of each tensor in a stack, by its own amax.
  void try_stack(const ReadingWork& work, std::size_t reading, const NamedScaleRule& rule,
                 std::span<const StoredScales> stored) const {
    const std::vector<std::uint64_t>& shape = work.reading().shape;
    const std::size_t n = tensors_in_stack(shape);
    const bool is_along = work.reading().axis == 0;
    if (n < 2 || is_along || !work.format().tensor_scale ||
        rule.rule.four_or_six != FourOrSix::six) {
      return;
    }
    const ScaleRule steps = work.steps(rule);
    const std::vector<std::uint32_t>& amaxes = work.amaxes(steps);
    const std::size_t of_each = amaxes.size() / n;
    std::vector<std::uint32_t> made;
    for (std::size_t i = 0; i < n; ++i) {
      const auto its = std::span(amaxes).subspan(i * of_each, of_each);
      std::uint32_t amax = 0;
      for (const std::uint32_t one : its) amax = next_amax(steps, amax, one);
      const TensorScale tensor = tensor_scale(steps, work.format(), amax);
      for (const std::uint32_t one : its) {
        made.push_back(block_scale(steps, work.format(), one, tensor).code);
      }
    }
    for (std::size_t order = 0; order < stored.size(); ++order) {
      SuspectedScales x{reading, order, &rule, {}, NumbersTaken::as_given, {}};
      x.words =
          fmt::format("each of {} tensors along axis 0 has a scale of its own: see --stack", n);
      x.kind = "stack";
      x.weight = stored[order].weight();
      keep(std::move(x), scales_agree(work.format().scale, made, stored[order]));
    }
  }

  /// Scales of an amax over several blocks.
  void try_groups(const ReadingWork& work, std::size_t reading, const NamedScaleRule& rule,
                  const TensorScaleChoice& tensor, std::span<const StoredScales> stored) const {
    const BlockView& view = work.reading().view;
    const std::size_t columns = view.blocks_of_line(), lines = view.block_lines();
    const bool is_line = view.lines_of_block == 1 && view.length_of_block > 1;
    struct Group {
      std::size_t lines, blocks;
    };
    for (const Group group :
         {Group{is_line ? view.length_of_block : 1, 1}, Group{1, 2}, Group{1, 4}}) {
      if (group.lines * group.blocks == 1 || (group.lines > 1 && lines == 1) ||
          (group.blocks > 1 && columns == 1) || rule.rule.four_or_six != FourOrSix::six) {
        continue;
      }
      const std::vector<std::uint32_t>& each = work.amaxes(rule.rule);
      std::vector<std::uint32_t> amaxes(each.size());
      const auto first_of = [&](std::size_t block) {
        const std::size_t row = block / columns, column = block % columns;
        const std::size_t matrix = row / lines, line = row % lines;
        return (matrix * lines + line / group.lines * group.lines) * columns +
               column / group.blocks * group.blocks;
      };
      for (std::size_t i = 0; i < each.size(); ++i) {
        std::uint32_t& amax = amaxes[first_of(i)];
        amax = next_amax(rule.rule, amax, each[i]);
      }
      for (std::size_t i = 0; i < each.size(); ++i) amaxes[i] = amaxes[first_of(i)];
      ScaleCounts counts;
      const BlockScales made = scales_of_blocks(work.quantizer(work.steps(rule), tensor.scale),
                                                view, work.x(), amaxes, counts);
      for (std::size_t order = 0; order < stored.size(); ++order) {
        keep({reading,
              order,
              &rule,
              tensor,
              NumbersTaken::as_given,
              group.lines > 1
                  ? fmt::format("amaxes of {} × {} numbers", group.lines, view.length_of_block)
                  : fmt::format("amaxes of {} neighbouring blocks", group.blocks),
              {},
              "amax_of_several",
              0,
              stored[order].weight()},
             scales_agree(work.format().scale, made.codes, stored[order]));
      }
    }
  }

  std::vector<SuspectedScales>* out_;
};

/// How far a row is from the one whose scales it has, of the distances that a sample of rows has
/// in common, the nearest first.
std::vector<std::int64_t> distances_of_rows(const BlockView& view,
                                            std::span<const std::uint32_t> made,
                                            const StoredScales& stored) {
  const std::size_t columns = view.blocks_of_line(), rows = view.lines;
  const auto is_same = [&](std::size_t at, std::size_t from) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::uint32_t one = held_scale(made[from * columns + c], stored.held);
      if (one != stored.codes[at * columns + c]) return false;
    }
    return true;
  };
  const std::vector<std::size_t> sample = spread_places(rows, 9);
  std::vector<std::int64_t> out;
  for (std::size_t by = 1; by <= rows / 2 && out.size() < 3; ++by) {
    for (const std::size_t distance : {by, rows - by}) {
      const auto count = std::ranges::count_if(
          sample, [&](std::size_t at) { return is_same(at, (at + rows - distance) % rows); });
      // The first rows may have come from elsewhere.
      if (2 * static_cast<std::size_t>(count) <= sample.size()) continue;
      const bool is_up = 2 * distance > rows;
      out.push_back(static_cast<std::int64_t>(distance) -
                    (is_up ? static_cast<std::int64_t>(rows) : 0));
      if (2 * by == rows) break;
    }
  }
  return out;
}

/// Whether most codes are those of the numbers as `from` has them; zeros are zeros anywhere.
bool codes_are_moved(const ReadingWork& from, const BlockQuantizer& to, const BlockScales& scales) {
  const std::vector<std::size_t> pieces = spread_places(from.pieces().count, 3);
  const std::uint64_t zeros = zeros_of_pieces(from, pieces);
  return std::ranges::any_of(code_readings, [&](const CodeReading& how) {
    if (how.is_packed && !codes_are_packed(from.given(), from.reading())) return false;
    const std::vector<std::byte> codes = stored_codes(from.given(), from.reading(), how.order);
    ScaleAgreement all = codes_agree(from, to, scales.factors, codes, how, {.pieces = pieces});
    all.zeros = std::min(all.equal, zeros);
    return all.speaks() >= 0.5;
  });
}

/// Rows of codes and scales that are another row's of the numbers.
void try_moved_rows(const Quantized& given, const ScaleReading& reading, std::size_t number,
                    std::span<const StoredScales> stored, std::vector<SuspectedScales>& out) {
  const BlockView& view = reading.view;
  if (view.lines_of_block != 1 || view.length_of_block == 1 || view.lines < 3) return;
  const ReadingWork work(given, reading, NumbersTaken::as_given);
  std::map<std::int64_t, ReadingWork> moved;
  std::vector<SuspectedScales> moved_ones;
  for (const NamedScaleRule& rule : scale_rules) {
    if (!fits(rule, reading.format.format) || rule.rule.four_or_six != FourOrSix::six) continue;
    const TensorScaleChoice tensor = tensor_scale_choices(work, rule, false)[0];
    const BlockScales made = work.scales(work.steps(rule), tensor.scale);
    for (std::size_t order = 0; order < stored.size(); ++order) {
      for (const std::int64_t rows : distances_of_rows(view, made.codes, stored[order])) {
        SuspectedScales x{number, order, &rule, tensor, NumbersTaken::as_given, {}};
        const ReadingWork& from =
            moved.try_emplace(rows, given, reading, NumbersTaken::as_given, rows).first->second;
        const BlockScales its = from.scales(work.steps(rule), tensor.scale);
        // Scales alone may be moved, and codes not.
        if (!codes_are_moved(from, from.quantizer(work.steps(rule), tensor.scale), its)) continue;
        x.scales = scales_agree(reading.format.format.scale, its.codes, stored[order]);
        x.words = moved_words(rows);
        x.kind = "rows_moved";
        x.weight = stored[order].weight();
        x.rows = rows;
        if (x.speaks() >= 0.5) moved_ones.push_back(std::move(x));
      }
    }
  }
  // Before those that say the same of scales alone.
  out.insert(out.begin(), std::make_move_iterator(moved_ones.begin()),
             std::make_move_iterator(moved_ones.end()));
}

}  // namespace

std::string moved_words(std::int64_t rows) {
  if (rows == 0) return "";
  const std::int64_t by = std::abs(rows);
  return fmt::format("each row is that of the numbers {} row{} {}", by, by == 1 ? "" : "s",
                     rows > 0 ? "before" : "behind");
}

std::string taken_words(NumbersTaken taken) {
  return std::string(words_of_taken[static_cast<std::size_t>(taken)]);
}

BlockScales scales_for(const ReadingWork& work, const NamedScaleRule& rule,
                       const TensorScale& tensor, const std::optional<Format>& element) {
  BlockQuantizer to = work.quantizer(work.steps(rule), tensor);
  if (element) to.format.element = *element;
  ScaleCounts counts;
  return scales_of_blocks(to, work.reading().view, work.x(), work.amaxes(to.rule), counts);
}

std::string joined_words(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (!part.empty()) out += (out.empty() ? "" : ", ") + part;
  }
  return out;
}

std::string reading_words(const ReadingWork& work, std::size_t order) {
  const ScaleReading& r = work.reading();
  const std::string axis =
      r.format.format.is_of_tensor() ? "" : fmt::format(" along axis {}", r.axis);
  return fmt::format("{}{}{}, {}", r.format.name, axis, r.transposed ? " of the transpose" : "",
                     order_text(r.orders[order]));
}

void try_scales_of(const Quantized& given, const ScaleReading& reading, std::size_t number,
                   std::vector<SuspectedScales>& out) {
  std::vector<StoredScales> stored;
  for (const StoredOrder& order : reading.orders) {
    stored.push_back(stored_scales(given, reading, order));
  }
  for (const NumbersTaken taken :
       {NumbersTaken::as_given, NumbersTaken::as_bfloat16, NumbersTaken::as_binary16}) {
    const ReadingWork work(given, reading, taken);
    const ScaleSuspicions suspicions(out);
    for (const NamedScaleRule& rule : scale_rules) {
      if (fits(rule, reading.format.format)) {
        suspicions.try_rule(work, number, rule, taken, stored);
      }
    }
  }
  try_moved_rows(given, reading, number, stored, out);
}

}  // namespace binade
