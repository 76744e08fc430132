// SPDX-License-Identifier: Apache-2.0
//
// What may have happened to scales and codes that no rule explains. Scales first: each suspicion is
// a rule's scales with one change, compared on all blocks. Then codes, under the stored scales and
// under those that the suspicions give: on a few pieces, and the best on all elements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "lib/format/format_spec.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"
#include "lib/scales/scale_work.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

/// What may have been done to scales.
struct ScaleChange {
  std::string_view kind;
  std::string words;
  double factor = 0;  ///< 0: none
};

/// Scales that a suspicion gives, held against stored ones.
struct SuspectedScales {
  std::size_t reading = 0, order = 0;
  const NamedScaleRule* rule = nullptr;
  TensorScaleChoice tensor = {};
  NumbersTaken taken = NumbersTaken::as_given;
  std::string words;
  ScaleAgreement scales = {};
  std::string_view kind = {};
  double factor = 0;
};

constexpr std::array<std::string_view, 3> words_of_taken{"", "numbers rounded to bfloat16 first",
                                                         "numbers rounded to binary16 first"};

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
        x.words = joined_words({std::string(words_of_taken[static_cast<std::size_t>(taken)]),
                                tensor.fit == TensorScaleFit::imagined ? tensor.words : ""});
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

/// Under which scales codes are tried, and by whose step.
struct CodesOf {
  std::string_view kind{};
  const NamedScaleRule* rule = nullptr;
};

/// A way of making codes that is tried.
struct SuspectedCodes {
  std::size_t reading = 0;
  NumbersTaken taken = NumbersTaken::as_given;
  BlockQuantizer to = {};
  std::vector<std::uint32_t> factors = {};
  const CodeReading* how = nullptr;
  std::string words = {};
  ScaleAgreement elements = {};
  CodesOf of = {};
};

/// How often something happened, and how often it would if random numbers decided.
struct DrawnCount {
  double found = 0, expected = 0, variance = 0;

  void add(bool happened, double probability) {
    found += happened ? 1 : 0;
    expected += probability;
    variance += probability * (1 - probability);
  }
  bool agrees() const {
    constexpr double deviations = 5;
    return std::abs(found - expected) <= deviations * std::sqrt(variance);
  }
};

/// A search for suspicions of codes, of one reading.
class CodeSuspicions {
 public:
  CodeSuspicions(const ReadingWork& work, std::size_t reading, NumbersTaken taken,
                 std::uint64_t& tried, std::vector<SuspectedCodes>& out)
      : work_(&work),
        reading_(reading),
        taken_(taken),
        tried_(&tried),
        out_(&out),
        pieces_(spread_places(work.pieces().count, 3)) {
    for (const NibbleOrder order : {NibbleOrder::low_first, NibbleOrder::high_first}) {
      if (order == NibbleOrder::high_first && !codes_are_packed(work.given(), work.reading()))
        continue;
      stored_[order] = stored_codes(work.given(), work.reading(), order);
    }
  }

  /// Tries every rounding, and every reading of codes, under these factors.
  void try_under(const BlockQuantizer& to, std::vector<std::uint32_t> factors,
                 const std::string& words, const CodesOf& of) const {
    std::optional<SuspectedCodes> best;
    const auto try_one = [&](Rounding rounding, const CodeReading& how) {
      if (!stored_.contains(how.order)) return;
      SuspectedCodes x{reading_, taken_, to, {}, &how};
      x.to.attributes.rounding = rounding;
      ++*tried_;
      x.elements =
          codes_agree(*work_, x.to, factors, stored_.at(how.order), how, {.pieces = pieces_});
      if (best && x.elements.equal <= best->elements.equal) return;
      x.words = joined_words({words,
                              rounding == Rounding::ties_to_even
                                  ? ""
                                  : "codes rounded " + std::string(rounding_name(rounding)),
                              std::string(how.words),
                              std::string(words_of_taken[static_cast<std::size_t>(taken_)])});
      best = std::move(x);
    };
    for (const Rounding rounding : roundings_tried()) try_one(rounding, code_readings[0]);
    const Rounding rounding = best->to.attributes.rounding;
    for (const CodeReading& how : code_readings.subspan(1)) {
      try_one(Rounding::ties_to_even, how);
      if (rounding != Rounding::ties_to_even) try_one(rounding, how);
    }
    best->factors = std::move(factors);
    best->of = of;
    out_->push_back(std::move(*best));
  }

  /// Counts all elements.
  void count_all(SuspectedCodes& x) const {
    x.elements = codes_agree(*work_, x.to, x.factors, stored_.at(x.how->order), *x.how, {});
  }

  /// Counts the codes that are one of the two neighbours of their number; none where how many of
  /// them went up, and away from the nearest, is not what the discarded fractions would give.
  std::uint64_t drawn_neighbours(const SuspectedCodes& x) const {
    std::vector<std::uint8_t> marks(work_->x().size());
    for (const std::uint8_t bit : {std::uint8_t{1}, std::uint8_t{2}}) {
      BlockQuantizer to = x.to;
      to.attributes.rounding = bit == 1 ? Rounding::toward_negative : Rounding::toward_positive;
      codes_agree(*work_, to, x.factors, stored_.at(x.how->order), *x.how,
                  {.elements = &marks, .bit = bit});
    }
    DrawnCount away;
    std::array<DrawnCount, 4> up;  // by quarters of the fraction
    for (const std::size_t i : spread_places(marks.size(), std::size_t{1} << 20)) {
      // A number of the format is both of its neighbours, or none.
      if (marks[i] != 1 && marks[i] != 2) continue;
      const double fraction = discarded_fraction(x, i);
      if (!(fraction > 0 && fraction < 1)) continue;
      const bool is_up = marks[i] == 1;  // it is not the lower one
      away.add(is_up == (fraction < 0.5), std::min(fraction, 1 - fraction));
      up[static_cast<std::size_t>(4 * fraction)].add(is_up, fraction);
    }
    constexpr double least_variance = 16;
    if (away.variance < least_variance || away.found == 0 || !away.agrees() ||
        !std::ranges::all_of(up, &DrawnCount::agrees)) {
      return 0;
    }
    return static_cast<std::uint64_t>(
        std::ranges::count_if(marks, [](std::uint8_t mark) { return mark != 3; }));
  }

 private:
  /// How far an element lies from its lower neighbour to its upper one, which are 0 and 1.
  double discarded_fraction(const SuspectedCodes& x, std::size_t element) const {
    const auto block = static_cast<std::size_t>(block_of_element(work_->reading().view, element));
    const float number = work_->x()[element], factor = std::bit_cast<float>(x.factors[block]);
    const double scaled = divides(x.to.rule) ? number / factor : number * factor;
    const auto neighbour = [&](Rounding rounding) {
      BlockQuantizer to = x.to;
      to.attributes.rounding = rounding;
      const std::uint32_t code = made_code(to, x.factors[block], number, code_readings[0]);
      return value_of<double>(
          convert(stored_element(to.format, code), to.format.element, binary64).bits, binary64);
    };
    const double low = neighbour(Rounding::toward_negative);
    const double high = neighbour(Rounding::toward_positive);
    return (scaled - low) / (high - low);
  }

  const ReadingWork* work_;
  std::size_t reading_;
  NumbersTaken taken_;
  std::uint64_t* tried_;
  std::vector<SuspectedCodes>* out_;
  std::vector<std::size_t> pieces_;
  std::map<NibbleOrder, std::vector<std::byte>> stored_;
};

/// "as stored (mxfp4 along axis 1, row_major)".
std::string in_reading(std::string_view what, const ReadingWork& work, std::size_t order) {
  return fmt::format("{} ({})", what, reading_words(work, order));
}

/// Tries codes under the stored scales, and under those of their neighbours.
void try_stored(const ReadingWork& work, const CodeSuspicions& codes, std::size_t order) {
  const StoredScales stored =
      stored_scales(work.given(), work.reading(), work.reading().orders[order]);
  std::vector<std::pair<Factor, ElementCast>> seen;
  for (const NamedScaleRule& rule : scale_rules) {
    const std::pair step{rule.rule.factor, rule.rule.cast};
    if (!fits(rule, work.format()) || std::ranges::find(seen, step) != seen.end()) continue;
    seen.push_back(step);
    for (const TensorScaleChoice& tensor : tensor_scale_choices(work, rule, true)) {
      const BlockQuantizer to = work.quantizer(work.steps(rule), tensor.scale);
      const std::string with = joined_words(
          {in_reading("scales as stored", work, order), fmt::format("the step of {}", rule.name),
           tensor.fit == TensorScaleFit::imagined ? tensor.words : ""});
      codes.try_under(to, factors_under(work, to, stored.codes), with, {"stored_scales", &rule});
      if (seen.size() > 1 || stored.codes.size() < 2) continue;
      for (const int by : {1, -1}) {
        std::vector<std::uint32_t> moved = stored.codes;
        std::ranges::rotate(moved, by == 1 ? moved.begin() + 1 : moved.end() - 1);
        codes.try_under(to, factors_under(work, to, moved),
                        with + (by == 1 ? ", of the next block" : ", of the previous block"),
                        {"stored_scales_of_other_block", &rule});
      }
    }
  }
}

/// Tries codes under the scales that rules give, whatever is stored, and under suspected ones.
void try_made(const ReadingWork& work, const CodeSuspicions& codes, std::size_t reading,
              NumbersTaken taken, std::span<const SuspectedScales> suspected) {
  const auto try_scales = [&](const NamedScaleRule& rule, const TensorScaleChoice& tensor) {
    codes.try_under(work.quantizer(work.steps(rule), tensor.scale),
                    work.scales(work.steps(rule), tensor.scale).factors,
                    joined_words({fmt::format("scales of {}, whatever is stored", rule.name),
                                  tensor.fit == TensorScaleFit::imagined ? tensor.words : ""}),
                    {"scales_of_rule", &rule});
  };
  for (const NamedScaleRule& rule : scale_rules) {
    if (!fits(rule, work.format()) || rule.rule.four_or_six != FourOrSix::six) continue;
    try_scales(rule, tensor_scale_choices(work, rule, false)[0]);
  }
  for (const SuspectedScales& x : suspected) {
    if (x.reading == reading && x.taken == taken && x.tensor.fit == TensorScaleFit::imagined) {
      try_scales(*x.rule, x.tensor);
    }
  }
}

double share_of_codes(const SuspectedCodes& x) { return x.elements.share(); }

template <class Suspect>
void keep_best(std::vector<Suspect>& all, std::size_t most, const auto& share) {
  std::ranges::stable_sort(all,
                           [&](const Suspect& a, const Suspect& b) { return share(a) > share(b); });
  if (all.size() > most) all.erase(all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
}

/// Adds a hypothesis that at least halves what `base` leaves unequal, unless a better one is there
/// that leaves nothing. Returns whether it was added.
bool tell(ScaleFinding& finding, const ScaleHypothesis& x, std::uint64_t base) {
  const auto is_enough = [&](const ScaleHypothesis& other) {
    return other.part == x.part &&
           (other.equal == other.of || other.words == x.words || other.equal == x.equal);
  };
  if (x.equal <= base || 2 * (x.of - x.equal) > x.of - base) return false;
  if (std::ranges::any_of(finding.hypotheses, is_enough)) return false;
  finding.hypotheses.push_back(x);
  return true;
}

constexpr std::size_t most_told = 2;

/// The readings whose codes are tried: those for which scales, perhaps changed, and codes speak
/// most, and at least half as much as for the first.
std::vector<std::size_t> readings_to_try(std::span<const ReadingEvidence> evidence,
                                         std::span<const ScaleRuleFit> nearest,
                                         std::span<const SuspectedScales> suspected) {
  std::vector<double> scales(evidence.size());
  const auto take = [&](const auto& x) {
    scales[x.reading] = std::max(scales[x.reading], x.scales.share());
  };
  for (const ScaleRuleFit& x : nearest) take(x);
  for (const SuspectedScales& x : suspected) take(x);
  const auto speaks = [&](std::size_t i) { return evidence[i].codes + scales[i]; };
  std::vector<std::size_t> out(evidence.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::ranges::stable_sort(out, std::greater(), speaks);
  out.resize(std::min<std::size_t>(out.size(), 3));
  std::erase_if(out, [&](std::size_t i) { return 2 * speaks(i) < speaks(out[0]); });
  return out;
}

/// Tells of a scale of the tensor that is a rule's in another form than names say.
void tell_other_form(const Quantized& given, ScaleFinding& finding) {
  for (const ScaleRuleFit& fit : finding.nearest) {
    if (!fit.scales.is_whole() || fit.tensor.fit != TensorScaleFit::imagined) continue;
    const std::optional<TensorScalePart> part = part_that_is(fit.tensor.scale, *given.tensor);
    if (!part || given.layouts.empty()) continue;
    tell(finding,
         {fmt::format("{}: the scale of the tensor is {}, where by the names of {} it is {}",
                      fit.rule->name, part_words(*part), given.layouts[0]->name,
                      part_words(given.layouts[0]->part)),
          ExplainedPart::tensor_scale, 1, 1, "tensor_scale_form", fit.reading, fit.order, fit.rule},
         0);
  }
}

/// Tries everything that may have happened to the scales of a reading.
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

}  // namespace

std::optional<SuspectedRule> add_scale_hypotheses(const Quantized& given,
                                                  std::span<const ReadingEvidence> evidence,
                                                  ScaleFinding& finding) {
  std::vector<SuspectedScales> scales;
  double most_codes = 0;
  for (const ReadingEvidence& x : evidence) most_codes = std::max(most_codes, x.codes);
  // Scales of a rule are no reason to look no further where codes speak for another reading.
  const bool are_whole = std::ranges::any_of(finding.nearest, [&](const ScaleRuleFit& fit) {
    return fit.is_whole_so_far() && evidence[fit.reading].codes >= most_codes - chance;
  });
  for (std::size_t i = 0; !are_whole && i < finding.readings.size(); ++i) {
    try_scales_of(given, finding.readings[i], i, scales);
  }
  keep_best(scales, 12,
            [&](const SuspectedScales& x) { return x.scales.share() + evidence[x.reading].codes; });
  std::uint64_t codes_equal = 0;
  for (const ScaleRuleFit& fit : finding.nearest) {
    codes_equal = std::max(codes_equal, fit.elements.equal);
  }
  // What nearest rules make equal, but for those of readings for which codes speak less.
  const auto scales_equal = [&](std::size_t reading) {
    std::uint64_t out = 0;
    for (const ScaleRuleFit& fit : finding.nearest) {
      const bool counts = evidence[fit.reading].codes >= evidence[reading].codes - chance;
      if (counts) out = std::max(out, fit.scales.equal);
    }
    return out;
  };
  tell_other_form(given, finding);
  std::optional<SuspectedRule> first;
  for (const SuspectedScales& x : scales) {
    if (finding.hypotheses.size() == most_told) break;
    if (first && first->reading != x.reading) continue;
    const ReadingWork work(given, finding.readings[x.reading], NumbersTaken::as_given);
    const std::string words =
        fmt::format("{}: {} ({})", x.rule->name, x.words, reading_words(work, x.order));
    const bool is_told = tell(finding,
                              {words, ExplainedPart::scales, x.scales.equal, x.scales.of, x.kind,
                               x.reading, x.order, x.rule, x.factor},
                              std::min(scales_equal(x.reading), x.scales.of));
    if (is_told && !first) first = {x.reading, x.order, x.rule};
  }
  const std::vector<std::size_t> readings = readings_to_try(evidence, finding.nearest, scales);
  std::vector<SuspectedCodes> told;
  ScaleHypothesis drawn{.words = "", .part = ExplainedPart::codes, .kind = "stochastic"};
  const auto is_found = [&] {
    return std::ranges::any_of(told, [](const SuspectedCodes& x) { return x.elements.is_whole(); });
  };
  for (const std::size_t i : readings) {
    for (const NumbersTaken taken :
         {NumbersTaken::as_given, NumbersTaken::as_bfloat16, NumbersTaken::as_binary16}) {
      if (is_found()) break;
      const ReadingWork work(given, finding.readings[i], taken);
      std::vector<SuspectedCodes> codes;
      const CodeSuspicions suspicions(work, i, taken, finding.codings, codes);
      try_stored(work, suspicions, evidence[i].order);
      try_made(work, suspicions, i, taken, scales);
      keep_best(codes, 4, share_of_codes);
      for (SuspectedCodes& x : codes) suspicions.count_all(x);
      if (taken == NumbersTaken::as_given && !codes.empty() && !codes[0].elements.is_whole()) {
        const std::uint64_t n = suspicions.drawn_neighbours(codes[0]);
        if (n > drawn.equal) {
          drawn.words =
              "each code is one of the two neighbours of its number, as stochastic rounding leaves "
              "them: " +
              codes[0].words;
          drawn.equal = n;
          drawn.of = given.x.size();
          drawn.reading = i;
          drawn.order = evidence[i].order;
          drawn.rule = codes[0].of.rule;
        }
      }
      for (SuspectedCodes& x : codes) {
        x.factors.clear();
        told.push_back(std::move(x));
      }
    }
  }
  keep_best(told, told.size(), share_of_codes);
  const std::size_t before = finding.hypotheses.size();
  for (const SuspectedCodes& x : told) {
    if (finding.hypotheses.size() == before + most_told) break;
    tell(finding,
         {x.words, ExplainedPart::codes, x.elements.equal, x.elements.of, x.of.kind, x.reading,
          evidence[x.reading].order, x.of.rule},
         codes_equal);
  }
  if (drawn.equal > 0 && !told[0].elements.is_whole()) {
    tell(finding, drawn, std::max(codes_equal, told[0].elements.equal));
  }
  return first;
}

}  // namespace binade
