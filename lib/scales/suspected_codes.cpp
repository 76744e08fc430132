// SPDX-License-Identifier: Apache-2.0
//
// Each suspicion is counted on a few pieces; the caller counts the best on all elements.
#include "lib/scales/suspected_codes.h"
#include "lib/scales/tensor_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/format/format_spec.h"
#include "lib/number/drawn_count.h"
#include "lib/number/spread_places.h"

namespace binade {
namespace {

/// "as stored (mxfp4 along axis 1, row_major)".
std::string in_reading(std::string_view what, const ReadingWork& work, std::size_t order) {
  return fmt::format("{} ({})", what, reading_words(work, order));
}

/// A way of flushing small numbers: their codes, or what would be subnormal before it is rounded.
struct FlushedCodes {
  std::string_view words;
  Subnormals subnormals = Subnormals::kept;
  Tininess tininess = Tininess::after_rounding;
};
constexpr std::array<FlushedCodes, 5> ways_of_flushing{
    {{"zeros without a sign", Subnormals::kept_beside_zero},
     {"subnormal codes as zeros", Subnormals::signed_zero},
     {"subnormal codes as zeros without a sign", Subnormals::zero},
     {"subnormal numbers flushed to zero", Subnormals::kept, Tininess::after_rounding},
     {"subnormal numbers flushed to zero before they are rounded", Subnormals::kept,
      Tininess::before_rounding}}};

}  // namespace

CodeSuspicions::CodeSuspicions(const ReadingWork& work, std::size_t reading, std::size_t order,
                               NumbersTaken taken, const RowsMoved& rows, const ScalesFirst& first,
                               std::uint64_t& tried, std::vector<SuspectedCodes>& out)
    : work_(&work),
      reading_(reading),
      order_(order),
      taken_(taken),
      rows_(rows),
      first_(first),
      tried_(&tried),
      out_(&out),
      pieces_(spread_places(work.pieces().count, 3)) {
  for (const NibbleOrder half : {NibbleOrder::low_first, NibbleOrder::high_first}) {
    if (half == NibbleOrder::high_first && !codes_are_packed(work.given(), work.reading()))
      continue;
    stored_[half] = stored_codes(work.given(), work.reading(), half);
  }
}

std::vector<const NamedScaleRule*> CodeSuspicions::rules() const {
  std::vector<const NamedScaleRule*> out;
  for (const NamedScaleRule& rule : scale_rules) {
    if (fits(rule, work_->format())) out.push_back(&rule);
  }
  std::ranges::stable_partition(out,
                                [&](const NamedScaleRule* rule) { return rule == first_.rule; });
  return out;
}

void CodeSuspicions::try_under(const BlockQuantizer& to, std::vector<std::uint32_t> factors,
                               const std::string& words, const CodesOf& of) const {
  std::optional<SuspectedCodes> best;
  const auto keep = [&](SuspectedCodes x, const std::string& between) {
    const Rounding rounding = x.to.attributes.rounding;
    const std::string rounded = x.away ? "codes rounded away from zero"
                                : rounding == Rounding::ties_to_even
                                    ? ""
                                    : "codes rounded " + std::string(rounding_name(rounding));
    const auto told = [&](const std::string& first, const std::string& second) {
      return joined_words({words, first, std::string(code_words(*x.how, x.to.format)), second,
                           taken_words(taken_), rows_.words});
    };
    x.words = told(rounded, between);
    x.of_any_rounding = told("", "");
    // Where nothing is told of scales, the scale of the tensor as it is stored is plainest.
    const std::optional<std::uint32_t>& stored = work_->given().tensor;
    const bool is_other_tensor =
        first_.tensor ? *first_.tensor != to.tensor : stored && !part_that_is(to.tensor, *stored);
    x.changes = (rounding == Rounding::ties_to_even && !x.away ? 0 : 1) +
                (x.how->words.empty() ? 0 : 1) + (between.empty() ? 0 : 1) +
                (taken_ == NumbersTaken::as_given ? 0 : 1) + (rows_.is_plain() ? 0 : 1) +
                (is_other_tensor ? 1 : 0);
    best = std::move(x);
  };
  const auto try_one = [&](Rounding rounding, const CodeReading& how) {
    if (!stored_.contains(how.order)) return;
    SuspectedCodes x{.reading = reading_,
                     .taken = taken_,
                     .order = order_,
                     .to = to,
                     .how = &how,
                     .rows = rows_};
    x.to.attributes.rounding = rounding;
    ++*tried_;
    x.elements =
        codes_agree(*work_, x.to, factors, stored_.at(how.order), how, {.pieces = pieces_});
    if (best && x.elements.equal <= best->elements.equal) return;
    keep(std::move(x), "");
  };
  for (const Rounding rounding : roundings_tried()) {
    try_one(rounding, code_readings[0]);
    if (of.kind == "unrounded_scales" && best->elements.share() < 0.9) return;
  }
  const Rounding rounding = best->to.attributes.rounding;
  if (of.kind != "unrounded_scales" && !best->elements.is_whole()) {
    SuspectedCodes x{.reading = reading_,
                     .taken = taken_,
                     .order = order_,
                     .to = to,
                     .away = true,
                     .how = &code_readings[0],
                     .rows = rows_};
    ++*tried_;
    x.elements = codes_agree(*work_, to, factors, stored_.at(NibbleOrder::low_first), *x.how,
                             {.pieces = pieces_, .away = true});
    if (x.elements.equal > best->elements.equal) keep(std::move(x), "");
  }
  for (const CodeReading& how : code_readings.subspan(1)) {
    try_one(Rounding::ties_to_even, how);
    if (rounding != Rounding::ties_to_even) try_one(rounding, how);
  }
  for (const Format& between : {bfloat16, binary16}) {
    // It moves few codes, so that others would be better by chance.
    if (best->elements.is_whole() || best->elements.share() < 0.5) break;
    if (taken_ != NumbersTaken::as_given || !rows_.is_plain()) break;
    SuspectedCodes x{.reading = reading_,
                     .taken = taken_,
                     .order = order_,
                     .to = to,
                     .between = between,
                     .how = &code_readings[0]};
    ++*tried_;
    x.elements = codes_agree(*work_, to, factors, stored_.at(NibbleOrder::low_first), *x.how,
                             {.pieces = pieces_, .between = between});
    const std::uint64_t left = best->elements.of - best->elements.equal;
    if (2 * (x.elements.of - x.elements.equal) > left) continue;
    // Of a power of two nobody can say which was rounded.
    const std::string_view what =
        work_->format().scale == e8m0 ? "numbers, or their quotients," : "quotients";
    keep(std::move(x), fmt::format("{} rounded to {} before the cast", what, format_name(between)));
  }
  auto narrow = of.kind == "stored_scales" ? try_narrow_factors(factors, *best) : std::nullopt;
  best->factors = narrow ? std::move(*narrow) : std::move(factors);
  best->of = of;
  out_->push_back(std::move(*best));
}

std::optional<std::vector<std::uint32_t>> CodeSuspicions::try_narrow_factors(
    std::span<const std::uint32_t> factors, SuspectedCodes& best) const {
  std::optional<std::vector<std::uint32_t>> out;
  const bool is_plain = taken_ == NumbersTaken::as_given && rows_.is_plain();
  if (best.elements.is_whole() || best.elements.share() < 0.5 || !is_plain ||
      best.to.format.scale == e8m0) {
    return out;
  }
  const std::uint64_t left = best.elements.of - best.elements.equal;
  const bool inverts = divides(best.to.rule);
  for (const Format& format : {binary32, bfloat16, binary16}) {
    if (format == binary32 && !inverts) continue;
    SuspectedCodes x = best;
    x.between.reset();
    if (inverts) x.to.rule.factor = Factor::reciprocal;
    std::vector<std::uint32_t> narrow(factors.begin(), factors.end());
    for (std::uint32_t& one : narrow) {
      one = block_steps::held(format, inverts ? block_steps::over(block_steps::one, one) : one);
    }
    ++*tried_;
    x.elements = codes_agree(*work_, x.to, narrow, stored_.at(x.how->order), *x.how,
                             {.pieces = pieces_, .away = x.away});
    if (4 * (x.elements.of - x.elements.equal) > left) continue;
    if (out && x.elements.equal <= best.elements.equal) continue;
    x.words = joined_words(
        {x.words, format == binary32 ? "times a reciprocal in the place of a quotient"
                                     : fmt::format("what numbers are multiplied by rounded to {}",
                                                   format_name(format))});
    ++x.changes;
    best = std::move(x);
    out = std::move(narrow);
  }
  return out;
}

void CodeSuspicions::try_stored() const {
  const ReadingWork& work = *work_;
  const StoredScales stored =
      stored_scales(work.given(), work.reading(), work.reading().orders[order_]);
  std::vector<std::pair<Factor, ElementCast>> seen;
  for (const NamedScaleRule* row : rules()) {
    const NamedScaleRule& rule = *row;
    const std::pair step{rule.rule.factor, rule.rule.cast};
    if (std::ranges::find(seen, step) != seen.end()) continue;
    seen.push_back(step);
    for (const TensorScaleChoice& tensor : tensor_scale_choices(work, rule, true)) {
      const BlockQuantizer to = work.quantizer(work.steps(rule), tensor.scale);
      const auto with = [&](std::string_view what) {
        return joined_words({in_reading(what, work, order_),
                             fmt::format("the step of {}", rule.name), tensor.told()});
      };
      try_under(to, factors_under(work, to, stored.codes), with("scales as stored"),
                {"stored_scales", &rule});
      if (seen.size() > 1 || stored.codes.size() < 2) continue;
      std::vector<std::uint32_t> twice = factors_under(work, to, stored.codes);
      const bool is_one = std::ranges::all_of(twice, [](auto f) { return f == block_steps::one; });
      for (std::uint32_t& factor : twice) factor = block_steps::times(factor, factor);
      if (!is_one) {
        try_under(to, std::move(twice), with("scales as stored, applied twice"),
                  {"stored_scales_twice", &rule});
      }
      for (const int by : {1, -1}) {
        std::vector<std::uint32_t> moved = stored.codes;
        std::ranges::rotate(moved, by == 1 ? moved.begin() + 1 : moved.end() - 1);
        try_under(to, factors_under(work, to, moved),
                  with(by == 1 ? "scales as stored for the next block"
                               : "scales as stored for the previous block"),
                  {"stored_scales_of_other_block", &rule});
      }
    }
  }
}

void CodeSuspicions::try_made(std::span<const SuspectedScales> suspected) const {
  const ReadingWork& work = *work_;
  const auto try_scales = [&](const NamedScaleRule& rule, const TensorScaleChoice& tensor,
                              const std::optional<Format>& element) {
    const std::string of =
        element ? fmt::format(" for codes of {}", format_name(*element)) : std::string();
    try_under(work.quantizer(work.steps(rule), tensor.scale),
              scales_for(work, rule, tensor.scale, element).factors,
              joined_words({fmt::format("scales of {}{}, whatever is stored", rule.name, of),
                            tensor.told()}),
              {"scales_of_rule", &rule});
  };
  for (const NamedScaleRule* rule : rules()) {
    if (rule->rule.four_or_six != FourOrSix::six) continue;
    try_scales(*rule, tensor_scale_choices(work, *rule, false)[0], {});
  }
  for (const SuspectedScales& x : suspected) {
    const bool is_other = x.tensor.fit == TensorScaleFit::imagined || x.element;
    if (x.reading == reading_ && x.taken == taken_ && is_other) {
      try_scales(*x.rule, x.tensor, x.element);
    }
  }
}

void CodeSuspicions::try_unrounded() const {
  using namespace block_steps;
  const ReadingWork& work = *work_;
  const BlockFormat& format = work.format();
  if (format.scale.bits() > 8) return;
  const std::uint32_t most = largest_of(format.element);
  /// A factor of a block's amax and quotient.
  struct FactorBefore {
    bool divides;
    std::uint32_t (*factor)(std::uint32_t amax, std::uint32_t quotient, std::uint32_t most,
                            const TensorScale& tensor);
  };
  constexpr std::array<FactorBefore, 6> ways{{
      {false,
       [](auto, auto q, auto, const TensorScale& t) { return over(one, times(q, t.decode)); }},
      {true, [](auto, auto q, auto, const TensorScale& t) { return times(q, t.decode); }},
      {false, [](auto, auto q, auto, const TensorScale& t) { return over(t.encode, q); }},
      {false, [](auto amax, auto, auto m, const TensorScale&) { return over(m, amax); }},
      {false, [](auto amax, auto, auto m, const TensorScale&) { return over(one, over(amax, m)); }},
      {true, [](auto amax, auto, auto m, const TensorScale&) { return over(amax, m); }},
  }};
  // Factors are made of the blocks of a sample, and of all where most of its codes are equal.
  std::vector<std::size_t> all(work.reading().view.blocks()), some;
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::size_t number : pieces_) {
    const BlockPiece piece = piece_of(work.pieces(), number);
    for (std::size_t i = 0; i < piece.blocks; ++i) some.push_back(piece.block + i);
  }
  std::vector<std::vector<std::uint32_t>> seen;
  for (const NamedScaleRule* row : rules()) {
    if (row->rule.four_or_six != FourOrSix::six) continue;
    const ScaleRule rule = work.steps(*row);
    const TensorScale tensor = tensor_scale_choices(work, *row, false)[0].scale;
    const std::vector<std::uint32_t>& amaxes = work.amaxes(rule);
    const auto quotient_of = [&](std::size_t block) {
      return rule.quotient == Quotient::amax ? over(amaxes[block], most)
                                             : quotient(rule, format, amaxes[block], tensor);
    };
    std::vector<std::uint32_t> quotients;
    for (const std::size_t block : some) quotients.push_back(quotient_of(block));
    if (std::ranges::find(seen, quotients) != seen.end()) continue;
    seen.push_back(std::move(quotients));
    for (const FactorBefore& way : ways) {
      BlockQuantizer to = work.quantizer(rule, tensor);
      to.rule.factor = way.divides ? Factor::over_scale : Factor::reciprocal;
      const auto factors_of = [&](std::span<const std::size_t> blocks) {
        std::vector<std::uint32_t> out(amaxes.size(), one);
        for (const std::size_t i : blocks) {
          if (amaxes[i] != 0) out[i] = way.factor(amaxes[i], quotient_of(i), most, tensor);
        }
        return out;
      };
      const std::size_t before = out_->size();
      try_under(to, factors_of(some),
                in_reading(fmt::format("scales of {} before they are rounded to {}", row->name,
                                       format_name(format.scale)),
                           work, order_),
                {"unrounded_scales", row});
      if (out_->size() > before) out_->back().factors = factors_of(all);
    }
  }
}

void CodeSuspicions::count_all(SuspectedCodes& x, std::vector<std::uint8_t>* elements) const {
  if (x.how_of_some != nullptr) {
    std::vector<std::uint8_t> marks(work_->x().size());
    for (const std::uint8_t bit : {std::uint8_t{1}, std::uint8_t{2}}) {
      const CodeReading& how = bit == 1 ? *x.how : *x.how_of_some;
      codes_agree(*work_, x.to, x.factors, stored_.at(how.order), how,
                  {.elements = &marks, .bit = bit, .away = x.away});
    }
    x.elements.of = marks.size();
    x.elements.equal = static_cast<std::uint64_t>(
        std::ranges::count_if(marks, [](std::uint8_t mark) { return mark != 3; }));
    for (std::size_t i = 0; elements != nullptr && i < marks.size(); ++i) {
      if (marks[i] == 3) (*elements)[i] = 1;
    }
    return;
  }
  x.elements = codes_agree(*work_, x.to, x.factors, stored_.at(x.how->order), *x.how,
                           {.elements = elements,
                            .between = x.between,
                            .away = x.away,
                            .subnormals = x.subnormals,
                            .any_nan = x.any_nan});
}

std::optional<SuspectedCodes> CodeSuspicions::refined(const SuspectedCodes& x) const {
  const Format& element = x.to.format.element;
  const std::uint64_t left = x.elements.of - x.elements.equal;
  std::optional<SuspectedCodes> out;
  const auto try_one = [&](std::string_view words, std::string_view kind, const auto& change) {
    SuspectedCodes one = x;
    change(one);
    ++*tried_;
    count_all(one);
    if (4 * (one.elements.of - one.elements.equal) > left) return;
    if (out && one.elements.equal <= out->elements.equal) return;
    one.words = joined_words({one.words, std::string(words)});
    ++one.changes;
    one.of.kind = kind;
    out = std::move(one);
  };
  if (left == 0 || 2 * x.elements.equal < x.elements.of || !x.how->words.empty() ||
      code_bytes(element) != 1 || x.to.format.twos_complement) {
    return out;
  }
  // What stands in the places that are left.
  SuspectedCodes counted = x;
  std::vector<std::uint8_t> marks(work_->x().size());
  count_all(counted, &marks);
  std::uint64_t zeros = 0, specials = 0, of_zeros = 0, lost = 0;
  const std::vector<std::byte>& stored = stored_.at(x.how->order);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i] == 0) continue;
    const Kind kind = decode(std::to_integer<std::uint64_t>(stored[i]), element).kind;
    zeros += kind == Kind::zero ? 1 : 0;
    specials += kind == Kind::nan || kind == Kind::infinite ? 1 : 0;
    of_zeros += kind == Kind::nan && work_->x()[i] == 0 ? 1 : 0;
    // A scale that makes zeros of all numbers is no reason for theirs.
    const auto block = static_cast<std::size_t>(block_of_element(work_->reading().view, i));
    const float factor = number_of_bits(x.factors[block]);
    const bool says_nothing = factor == 0 || !std::isfinite(factor);
    lost += kind == Kind::zero && says_nothing && work_->x()[i] != 0 ? 1 : 0;
  }
  if (4 * of_zeros >= 3 * left) {
    out = x;
    out->words = joined_words({x.words, "codes of zeros are NaN, as 0/0 gives"});
    out->elements.equal += of_zeros;
    ++out->changes;
    out->of.kind = "codes_of_zeros";
    return out;
  }
  if (4 * specials >= 3 * left) {
    try_one(element.has_infinity() ? "what overflows as Inf, not as the largest number"
                                   : "what overflows as NaN, not as the largest number",
            "codes_overflow", [](SuspectedCodes& one) {
              one.to.attributes.saturation = Saturation::none;
              one.any_nan = true;
            });
  }
  for (const FlushedCodes& way : ways_of_flushing) {
    if (4 * zeros < 3 * left || 2 * lost > zeros || (out && out->elements.is_whole())) break;
    try_one(way.words, "codes_flushed", [&](SuspectedCodes& one) {
      one.subnormals = way.subnormals;
      one.to.attributes.flush_results = way.subnormals == Subnormals::kept;
      one.to.attributes.tininess = way.tininess;
    });
  }
  return out;
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
