// SPDX-License-Identifier: Apache-2.0
//
// Each suspicion is compared on a sample, and where half of it is equal, on all blocks.
#include "lib/scales/suspected_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <span>

#include "lib/format/format_spec.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

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

/// Constants that stacks multiply and divide scales by.
constexpr std::array<std::uint32_t, 9> known_constants{
    0x40C00000 /* 6 */,   0x43E00000 /* 448 */,   0x45280000 /* 2688 */,
    0x43700000 /* 240 */, 0x47600000 /* 57344 */, 0x42FE0000 /* 127 */,
    0x3FC00000 /* 1.5 */, 0x43800000 /* 256 */,   0x44C00000 /* 1536 */};

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
        x.words = joined_words(
            {taken_words(taken), tensor.fit == TensorScaleFit::imagined ? tensor.words : ""});
        x.kind = as_given ? "tensor_scale" : "numbers_rounded";
        if (!x.words.empty()) keep(x, scales_agree(made.codes, stored[order]));
        if (is_plain) try_changes(work, x, made.codes, stored[order]);
      }
    }
    if (as_given) try_groups(work, reading, rule, choices[0], stored);
  }

 private:
  void keep(SuspectedScales x, const ScaleAgreement& scales) const {
    x.scales = scales;
    if (scales.share() >= 0.5) out_->push_back(std::move(x));
  }

  /// Compares changed(block) with what is stored, of all blocks if half of a sample is equal.
  void keep_changed(const SuspectedScales& x, const StoredScales& stored, const ScaleChange& change,
                    const auto& changed) const {
    const auto is_equal = [&](std::size_t i) {
      return held_scale(changed(i), stored.held) == stored.codes[i];
    };
    const std::vector<std::size_t> sample = sampled_blocks(stored.codes.size());
    const auto some = static_cast<std::size_t>(std::ranges::count_if(sample, is_equal));
    if (2 * some < sample.size()) return;
    SuspectedScales out = x;
    out.words = joined_words({change.words, x.words});
    out.kind = change.kind;
    out.factor = change.factor;
    ScaleAgreement scales{.of = stored.codes.size()};
    for (std::size_t i = 0; i < stored.codes.size(); ++i) {
      if (is_equal(i)) {
        ++scales.equal;
      } else if (!scales.first) {
        scales.first = i;
      }
    }
    keep(std::move(out), scales);
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
                   {"factor", fmt::format("scales times 2^{}", power), std::ldexp(1.0, power)},
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
              "amax_of_several"},
             scales_agree(made.codes, stored[order]));
      }
    }
  }

  std::vector<SuspectedScales>* out_;
};

}  // namespace

std::string taken_words(NumbersTaken taken) {
  return std::string(words_of_taken[static_cast<std::size_t>(taken)]);
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
  return fmt::format("{} along axis {}{}, {}", r.format.name, r.axis,
                     r.transposed ? " of the transpose" : "", order_text(r.orders[order]));
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
}

}  // namespace binade
