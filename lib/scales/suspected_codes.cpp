// SPDX-License-Identifier: Apache-2.0
//
// Each suspicion is counted on a few pieces; the caller counts the best on all elements.
#include "lib/scales/suspected_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "lib/number/drawn_count.h"
#include "lib/number/spread_places.h"

namespace binade {
namespace {

/// "as stored (mxfp4 along axis 1, row_major)".
std::string in_reading(std::string_view what, const ReadingWork& work, std::size_t order) {
  return fmt::format("{} ({})", what, reading_words(work, order));
}

}  // namespace

CodeSuspicions::CodeSuspicions(const ReadingWork& work, std::size_t reading, NumbersTaken taken,
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

void CodeSuspicions::try_under(const BlockQuantizer& to, std::vector<std::uint32_t> factors,
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
                            std::string(how.words), taken_words(taken_)});
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

void CodeSuspicions::try_stored(std::size_t order) const {
  const ReadingWork& work = *work_;
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
      try_under(to, factors_under(work, to, stored.codes), with, {"stored_scales", &rule});
      if (seen.size() > 1 || stored.codes.size() < 2) continue;
      for (const int by : {1, -1}) {
        std::vector<std::uint32_t> moved = stored.codes;
        std::ranges::rotate(moved, by == 1 ? moved.begin() + 1 : moved.end() - 1);
        try_under(to, factors_under(work, to, moved),
                  with + (by == 1 ? ", of the next block" : ", of the previous block"),
                  {"stored_scales_of_other_block", &rule});
      }
    }
  }
}

void CodeSuspicions::try_made(std::span<const SuspectedScales> suspected) const {
  const ReadingWork& work = *work_;
  const auto try_scales = [&](const NamedScaleRule& rule, const TensorScaleChoice& tensor) {
    try_under(work.quantizer(work.steps(rule), tensor.scale),
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
    if (x.reading == reading_ && x.taken == taken_ && x.tensor.fit == TensorScaleFit::imagined) {
      try_scales(*x.rule, x.tensor);
    }
  }
}

void CodeSuspicions::count_all(SuspectedCodes& x) const {
  x.elements = codes_agree(*work_, x.to, x.factors, stored_.at(x.how->order), *x.how, {});
}

/// How far an element lies from its lower neighbour to its upper one, which are 0 and 1.
double CodeSuspicions::discarded_fraction(const SuspectedCodes& x, std::size_t element) const {
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

std::uint64_t CodeSuspicions::drawn_neighbours(const SuspectedCodes& x) const {
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

}  // namespace binade
