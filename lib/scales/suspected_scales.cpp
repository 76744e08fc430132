// SPDX-License-Identifier: Apache-2.0
//
// Each suspicion is compared on a sample, and where half of it is equal, on all blocks.
#include "lib/scales/suspected_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "lib/scales/kept_scales.h"
#include "lib/scales/suspected_amaxes.h"
#include "lib/scales/suspected_changes.h"
#include "lib/scales/suspected_rows.h"
#include "lib/scales/tensor_scales.h"
#include "lib/scales/zero_blocks.h"

namespace binade {
namespace {

/// What a change of the numbers is called, and one of their amaxes alone that gives these scales.
struct TakenWords {
  std::string_view numbers, amaxes;
  std::string_view kind_of_numbers{}, kind_of_amaxes{};
};
constexpr std::array<TakenWords, 5> words_of_taken{
    {{"", ""},
     {"numbers rounded to bfloat16 first", "amaxes rounded to bfloat16", "numbers_rounded",
      "amaxes_rounded"},
     {"numbers rounded to binary16 first", "amaxes rounded to binary16", "numbers_rounded",
      "amaxes_rounded"},
     {"numbers cut off to bfloat16 first", "amaxes cut off to bfloat16", "numbers_rounded",
      "amaxes_rounded"},
     {"numbers below zero taken as zeros first", "amaxes that are max(x), not max|x|",
      "numbers_positive", "amaxes_positive"}}};

const TakenWords& words_of(NumbersTaken taken) {
  return words_of_taken[static_cast<std::size_t>(taken)];
}

/// Whether scales of changed numbers leave a quarter at most of what those of the numbers leave,
/// and so many less that it is no chance.
bool is_of_changed(const ScaleAgreement& changed, const ScaleAgreement& plain) {
  constexpr std::uint64_t least = 8;
  return changed.equal >= plain.equal + least &&
         4 * (changed.of - changed.equal) <= plain.of - plain.equal;
}

/// How many codes are those of these numbers under the scales that are made.
ScaleAgreement codes_under(const ReadingWork& work, const BlockQuantizer& to,
                           const BlockScales& made) {
  ScaleAgreement out;
  for (const CodeReading& how :
       code_readings.first(codes_are_packed(work.given(), work.reading()) ? 2 : 1)) {
    const std::vector<std::byte> stored = stored_codes(work.given(), work.reading(), how.order);
    const ScaleAgreement one = codes_agree(work, to, made.factors, stored, how, {});
    if (out.of == 0 || one.equal > out.equal) out = one;
  }
  return out;
}

/// Says of scales that are of changed numbers, or of changed amaxes alone, which codes speak for.
void say_what_was_changed(const ReadingWork& work, const ReadingWork& plain,
                          const BlockQuantizer& to, const BlockScales& made, NumbersTaken taken,
                          SuspectedScales& x) {
  const ScaleAgreement changed = codes_under(work, to, made), given = codes_under(plain, to, made);
  const std::uint64_t left_changed = changed.of - changed.equal,
                      left_given = given.of - given.equal;
  const TakenWords& words = words_of(taken);
  if (4 * left_changed <= left_given && left_changed < left_given) {
    x.words = words.numbers;
    return;
  }
  // Codes are not of the changed numbers, or nothing says that they are.
  x.taken = NumbersTaken::as_given;
  x.kind = words.kind_of_amaxes;
  const bool is_of_given = 4 * left_given <= left_changed && left_given < left_changed;
  x.words = is_of_given ? std::string(words.amaxes)
                        : fmt::format("{}, or {}: codes do not tell", words.numbers, words.amaxes);
}

/// Tries all changes of the scales that a rule makes of these numbers, which are changed themselves
/// where `plain` is of those that are given.
void try_rule(const KeptScales& kept, const ReadingWork& work, std::size_t reading,
              const NamedScaleRule& rule, NumbersTaken taken, const ReadingWork& plain,
              std::span<const StoredScales> stored) {
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
      const std::string of_tensor = tensor.told();
      x.words = of_tensor;
      x.kind = as_given ? "tensor_scale" : words_of(taken).kind_of_numbers;
      const auto agree = [&](std::span<const std::uint32_t> codes) {
        return scales_agree(work.format().scale, codes, stored[order]);
      };
      const auto is_no_chance = [&] {
        const ScaleAgreement changed = agree(made.codes);
        if (changed.share() < (is_chosen ? 1 : 0.75)) return false;
        return is_of_changed(changed, agree(plain.scales(plain.steps(rule), tensor.scale).codes));
      };
      const bool is_told = as_given ? !of_tensor.empty() : is_no_chance();
      if (is_told && !as_given) {
        const BlockQuantizer to = work.quantizer(work.steps(rule), tensor.scale);
        say_what_was_changed(work, plain, to, made, taken, x);
        x.words = joined_words({x.words, of_tensor});
      }
      if (is_told) kept.keep(x, work.format().scale, made.codes, stored[order]);
      if (is_plain) try_scale_changes(kept, work, x, made.codes, stored[order]);
    }
  }
  if (as_given) try_amaxes(kept, work, reading, rule, choices, stored);
}

}  // namespace

std::string taken_words(NumbersTaken taken) { return std::string(words_of(taken).numbers); }

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
  const KeptScales kept(out);
  const ReadingWork plain(given, reading, NumbersTaken::as_given);
  for (StoredScales& x : stored) free_zero_blocks(plain, x);
  for (const NumbersTaken taken : ways_of_numbers(given.x)) {
    const ReadingWork work(given, reading, taken);
    for (const NamedScaleRule& rule : scale_rules) {
      if (fits(rule, reading.format.format))
        try_rule(kept, work, number, rule, taken, plain, stored);
    }
  }
  try_rows(given, reading, number, stored, out);
}

}  // namespace binade
