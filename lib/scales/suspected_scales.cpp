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

namespace binade {
namespace {

constexpr std::array<std::string_view, 4> words_of_taken{"", "numbers rounded to bfloat16 first",
                                                         "numbers rounded to binary16 first",
                                                         "numbers cut off to bfloat16 first"};

/// Whether scales of changed numbers leave a quarter at most of what those of the numbers leave,
/// and so many less that it is no chance.
bool is_of_changed(const ScaleAgreement& changed, const ScaleAgreement& plain) {
  constexpr std::uint64_t least = 8;
  return changed.equal >= plain.equal + least &&
         4 * (changed.of - changed.equal) <= plain.of - plain.equal;
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
      x.words = joined_words(
          {taken_words(taken), tensor.fit == TensorScaleFit::imagined ? tensor.words : ""});
      x.kind = as_given ? "tensor_scale" : "numbers_rounded";
      const auto agree = [&](std::span<const std::uint32_t> codes) {
        return scales_agree(work.format().scale, codes, stored[order]);
      };
      const auto is_no_chance = [&] {
        const ScaleAgreement changed = agree(made.codes);
        if (changed.share() < (is_chosen ? 1 : 0.75)) return false;
        return is_of_changed(changed, agree(plain.scales(plain.steps(rule), tensor.scale).codes));
      };
      const bool is_told = !x.words.empty() && (as_given || is_no_chance());
      if (is_told) kept.keep(x, work.format().scale, made.codes, stored[order]);
      if (is_plain) try_scale_changes(kept, work, x, made.codes, stored[order]);
    }
  }
  if (as_given) try_amaxes(kept, work, reading, rule, choices, stored);
}

}  // namespace

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
  const KeptScales kept(out);
  const ReadingWork plain(given, reading, NumbersTaken::as_given);
  for (const NumbersTaken taken : ways_of_numbers) {
    const ReadingWork work(given, reading, taken);
    for (const NamedScaleRule& rule : scale_rules) {
      if (fits(rule, reading.format.format))
        try_rule(kept, work, number, rule, taken, plain, stored);
    }
  }
  try_rows(given, reading, number, stored, out);
}

}  // namespace binade
