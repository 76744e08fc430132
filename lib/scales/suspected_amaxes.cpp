// SPDX-License-Identifier: Apache-2.0
//
// An amax of some numbers in the place of others, which every scale under it shows.
#include "lib/scales/suspected_amaxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/number/spread_places.h"
#include "lib/scales/other_amaxes.h"

namespace binade {
namespace {

/// The amaxes of a tensor under which a rule gives most of a sample of scales; none where there is
/// none or where too few scales tell it.
struct AmaxRange {
  std::uint32_t least = 0, most = 0;
};

std::optional<AmaxRange> amaxes_that_fit(const ReadingWork& work, const ScaleRule& rule,
                                         std::span<const std::uint32_t> stored) {
  constexpr std::size_t least_blocks = 16;
  const std::vector<std::uint32_t>& amaxes = work.amaxes(rule);
  const BlockFormat& format = work.format();
  const auto code = [&](std::size_t block, std::uint32_t amax) {
    return block_scale(rule, format, amaxes[block], tensor_scale(rule, format, amax)).code;
  };
  std::vector<std::size_t> blocks;
  std::vector<float> ratios;
  // Scales that a limit may have decided say nothing.
  const auto says = [&](std::size_t i) {
    return amaxes[i] != 0 && amaxes[i] < block_steps::infinity && stored[i] >= 0x0A &&
           stored[i] < 0x7E;
  };
  for (const std::size_t i : spread_places(stored.size(), 48)) {
    if (!says(i)) continue;
    blocks.push_back(i);
    ratios.push_back(value_of<float>(convert(stored[i], format.scale, binary32).bits, binary32) /
                     number_of_bits(amaxes[i]));
  }
  if (blocks.size() < least_blocks) return std::nullopt;
  // All are one number but for their rounding.
  std::ranges::sort(ratios);
  const std::size_t few = ratios.size() / 20;
  if (ratios[ratios.size() - 1 - few] > 1.15F * ratios[few]) return std::nullopt;
  // Codes fall as the amax of the tensor grows: each block's is a range.
  const auto first_at_most = [&](std::size_t block, std::uint32_t limit) {
    std::uint32_t low = 0x00800000, high = 0x7F000000;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (code(block, middle) <= limit) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  std::vector<std::pair<std::uint32_t, int>> ends;
  std::optional<AmaxRange> out;
  for (int round = 0; round < 4 && !blocks.empty(); ++round) {
    for (const std::size_t i : blocks) {
      ends.emplace_back(first_at_most(i, stored[i]), 1);
      ends.emplace_back(first_at_most(i, stored[i] - 1), -1);
    }
    std::ranges::sort(ends);
    int within = 0, best = 0;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      within += ends[i].second;
      if (within <= best) continue;
      best = within;
      out = AmaxRange{ends[i].first, ends[i + 1].first - 1};
    }
    if (20 * static_cast<std::size_t>(best) < 9 * ends.size()) return std::nullopt;
    // Those that the middle does not explain make the range narrower.
    blocks.clear();
    const TensorScale tensor =
        tensor_scale(rule, format, out->least + (out->most - out->least) / 2);
    const std::vector<std::uint32_t> made = work.scales(rule, tensor).codes;
    for (std::size_t i = 0; i < made.size() && blocks.size() < 16; ++i) {
      if (made[i] != stored[i] && says(i)) blocks.push_back(i);
    }
  }
  return out;
}

/// Returns an amax of which a rule gives one scale of a tensor, within what steps and layers differ
/// by.
std::optional<std::uint32_t> amax_of_scale(const ReadingWork& work, std::uint32_t scale,
                                           const std::function<bool(std::uint32_t)>& is) {
  using namespace block_steps;
  constexpr float most_apart = 64;
  const std::uint32_t most = largest_of(work.format().element);
  for (const std::uint32_t guess : {times(scale, most), over(most, scale)}) {
    const float apart = number_of_bits(guess) / number_of_bits(work.amax({}));
    if (!(apart < most_apart && apart > 1 / most_apart)) continue;
    for (const int step : {0, 1, -1, 2, -2}) {
      const std::uint32_t amax = guess + static_cast<std::uint32_t>(step);
      if (is(amax)) return amax;
    }
  }
  return std::nullopt;
}

/// A search for suspicions of amaxes.
class AmaxSuspicions {
 public:
  explicit AmaxSuspicions(const KeptScales& kept) : kept_(&kept) {}

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
      kept_->keep(std::move(x), work.format().scale, made, stored[order]);
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
        SuspectedScales x{reading, order, &rule, tensor, NumbersTaken::as_given, {}};
        x.words = group.lines > 1
                      ? fmt::format("amaxes of {} × {} numbers", group.lines, view.length_of_block)
                      : fmt::format("amaxes of {} neighbouring blocks", group.blocks);
        x.kind = "amax_of_several";
        x.weight = stored[order].weight();
        kept_->keep(std::move(x), work.format().scale, made.codes, stored[order]);
      }
    }
  }

  /// Blocks under another scale of the tensor than its amax gives, which is none that is stored.
  void try_tensor(const ReadingWork& work, std::size_t reading, const NamedScaleRule& rule,
                  std::span<const TensorScaleChoice> choices,
                  std::span<const StoredScales> stored) const {
    if (!work.format().tensor_scale || rule.rule.four_or_six != FourOrSix::six) return;
    const ScaleRule steps = work.steps(rule);
    for (std::size_t order = 0; order < stored.size(); ++order) {
      // One that gives all needs no other, and one that is near none that is measured.
      double nearest = 0;
      bool is_stored = false;  // the one that is stored is near, which another would contradict
      for (const TensorScaleChoice& x : choices) {
        const ScaleAgreement its = sampled_scales(work, steps, x.scale, stored.subspan(order, 1));
        nearest = std::max(nearest, its.share());
        is_stored = is_stored || (&x != &choices[0] && its.share() >= 0.5);
      }
      if (nearest == 1 || is_stored) continue;
      const auto range = amaxes_that_fit(work, steps, stored[order].codes);
      const auto is_in = [&](std::uint32_t amax) {
        return amax >= range->least && amax <= range->most;
      };
      const auto is_tried = [&](const TensorScaleChoice& x) { return is_in(x.scale.amax); };
      if (!range || std::ranges::any_of(choices, is_tried)) continue;
      const std::uint32_t own = work.amax(steps);
      TensorScaleChoice tensor{.fit = TensorScaleFit::imagined};
      const FoundAmax found =
          amax_found(work, steps, {range->least + (range->most - range->least) / 2, is_in});
      if (!found.is_number && nearest >= 0.5) continue;
      tensor.words = fmt::format(
          "a scale of the tensor as of an amax of {}{:.{}g}, {}, where the tensor's is {:.6g}",
          found.is_known ? "" : "about ", number_of_bits(found.amax), found.is_known ? 6 : 4,
          found.words, number_of_bits(own));
      if (choices[0].fit == TensorScaleFit::equal || choices[0].is_near_stored) {
        tensor.words += fmt::format(
            ", which is not what is stored: scales of blocks are {:.4g} times the rule's",
            number_of_bits(own) / number_of_bits(found.amax));
      }
      tensor.scale = tensor_scale(steps, work.format(), found.amax);
      SuspectedScales x{reading, order, &rule, tensor, NumbersTaken::as_given, tensor.words};
      x.kind = "tensor_scale";
      x.factor = found.factor;
      x.is_measured = !found.is_number;
      x.weight = stored[order].weight();
      kept_->keep(std::move(x), work.format().scale, work.scales(steps, tensor.scale).codes,
                  stored[order]);
    }
  }

  /// One scale for all, by another number of the tensor than its amax.
  void try_one(const ReadingWork& work, std::size_t reading, const NamedScaleRule& rule,
               std::span<const StoredScales> stored) const {
    if (!work.format().is_of_tensor() || work.format().scale != binary32) return;
    const ScaleRule steps = work.steps(rule);
    for (std::size_t order = 0; order < stored.size(); ++order) {
      const auto code = [&](std::uint32_t amax) {
        return block_scale(steps, work.format(), amax, {}).code;
      };
      const auto is = [&](std::uint32_t amax) {
        return held_scale(code(amax), stored[order].held) == stored[order].codes[0];
      };
      const std::uint32_t own = work.amax(steps);
      if (is(own)) continue;
      const auto any = std::ranges::find_if(work.other_amaxes(steps), is, &NamedAmax::amax);
      const bool is_named = any != work.other_amaxes(steps).end();
      const std::optional<std::uint32_t> amax =
          is_named ? std::optional(any->amax) : amax_of_scale(work, stored[order].codes[0], is);
      if (!amax) continue;
      SuspectedScales x{reading, order, &rule, {}, NumbersTaken::as_given, {}};
      x.words = fmt::format(
          "the scale is as of an amax of {:.6g}, {}, where the tensor's is {:.6g}{}",
          number_of_bits(*amax), amax_found(work, steps, {*amax, is}).words, number_of_bits(own),
          is_named ? "" : ": of another tensor, or of a step before");
      x.kind = "other_amax";
      x.is_measured = !is_named;
      kept_->keep(std::move(x), work.format().scale, std::array{code(*amax)}, stored[order]);
    }
  }

 private:
  const KeptScales* kept_;
};

}  // namespace

void try_amaxes(const KeptScales& kept, const ReadingWork& work, std::size_t reading,
                const NamedScaleRule& rule, std::span<const TensorScaleChoice> choices,
                std::span<const StoredScales> stored) {
  const AmaxSuspicions amaxes(kept);
  amaxes.try_groups(work, reading, rule, choices[0], stored);
  amaxes.try_stack(work, reading, rule, stored);
  amaxes.try_tensor(work, reading, rule, choices, stored);
  amaxes.try_one(work, reading, rule, stored);
}

}  // namespace binade
