// SPDX-License-Identifier: Apache-2.0
//
// Parts are put together from eighths.
#include "lib/scales/other_amaxes.h"
#include "lib/scales/tensor_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "lib/format/format_spec.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// What a scale of the tensor may have been multiplied by.
struct NamedFactor {
  double factor;
  std::string_view words;
};

constexpr std::array<NamedFactor, 13> known_factors{{{1.5, "1.5"},
                                                     {3, "3"},
                                                     {6, "6"},
                                                     {448, "448"},
                                                     {2688, "2688"},
                                                     {1.75, "448/256"},
                                                     {448.0 / 240, "448/240"},
                                                     {2, "2"},
                                                     {4, "4"},
                                                     {8, "8"},
                                                     {16, "16"},
                                                     {256, "256"},
                                                     {4.0 / 3, "4/3"}}};

/// The numbers of a tensor that may stand in the place of its amax, but for those of parts.
std::vector<NamedAmax> amaxes_of_all(const ScaleRule& rule, std::span<const float> x) {
  float most = 0, least = 0;
  std::uint32_t own = 0;
  for (const float one : x) {
    most = std::max(most, one);
    least = std::min(least, one);
    own = next_amax(rule, own, std::bit_cast<std::uint32_t>(one));
  }
  std::vector<NamedAmax> out{
      {std::bit_cast<std::uint32_t>(most), "max(x), not max|x|"},
      {std::bit_cast<std::uint32_t>(-least), "-min(x), not max|x|"},
      {std::bit_cast<std::uint32_t>(most - least), "max(x) - min(x)"},
      {std::bit_cast<std::uint32_t>((most - least) / 2), "half of max(x) - min(x)"}};
  for (const Format& narrow : {bfloat16, binary16}) {
    out.push_back({block_steps::held(narrow, own),
                   fmt::format("the tensor's rounded to {}", format_name(narrow))});
  }
  out.push_back({own & 0xFFFF0000, "the tensor's cut off to bfloat16"});
  return out;
}

/// The amaxes of halves, quarters and eighths of rows, then of columns.
void add_parts(const ScaleRule& rule, std::span<const float> x, std::size_t columns,
               std::vector<NamedAmax>& out) {
  constexpr std::size_t most = 8;
  const std::size_t rows = columns == 0 ? 0 : x.size() / columns;
  std::array<std::array<std::uint32_t, most>, 2> eighths{};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t part = 0; part < most; ++part) {
      const std::size_t begin = columns * part / most, end = columns * (part + 1) / most;
      std::uint32_t amax = 0;
      for (const float one : x.subspan(r * columns + begin, end - begin)) {
        amax = next_amax(rule, amax, std::bit_cast<std::uint32_t>(one));
      }
      std::uint32_t& of_rows = eighths[0][r * most / rows];
      of_rows = next_amax(rule, of_rows, amax);
      eighths[1][part] = next_amax(rule, eighths[1][part], amax);
    }
  }
  for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) {
    for (std::size_t parts = 2; parts <= most; parts *= 2) {
      if ((axis == 0 ? rows : columns) % parts != 0) break;
      for (std::size_t part = 0; part < parts; ++part) {
        std::uint32_t amax = 0;
        for (std::size_t i = part * most / parts; i < (part + 1) * most / parts; ++i) {
          amax = next_amax(rule, amax, eighths[axis][i]);
        }
        out.push_back({amax,
                       fmt::format("that of part {} of {} of the {}", part + 1, parts,
                                   axis == 0 ? "rows" : "columns"),
                       axis == 0 ? NamedAmax::of_rows : NamedAmax::of_columns});
      }
    }
  }
}

/// "perhaps max(x), not max|x|, or that of part 1 of 2 of the rows or of less of it".
std::string words_of(std::span<const NamedAmax* const> found) {
  // Of parts of one kind the largest stands for those of it.
  std::vector<std::string> names;
  std::array<std::size_t, 3> of_kind{};
  for (const NamedAmax* one : found) {
    if (one->kind != NamedAmax::of_all && ++of_kind[one->kind] > 1) continue;
    names.push_back(one->words);
    const auto same = std::ranges::count(found, one->kind, &NamedAmax::kind);
    if (one->kind != NamedAmax::of_all && same > 1) names.back() += " or of less of it";
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return "perhaps " + alternatives(views);
}

}  // namespace

const std::vector<NamedAmax>& ReadingWork::other_amaxes(const ScaleRule& rule) const {
  std::vector<NamedAmax>& out = other_amaxes_[rule.nan_is_amax ? 1 : 0];
  if (!out.empty()) return out;
  out = amaxes_of_all(rule, x_);
  add_parts(rule, x_, reading_->shape.empty() ? 1 : reading_->shape.back(), out);
  const std::uint32_t own = amax(rule);
  std::erase_if(out, [&](const NamedAmax& x) {
    return x.amax == own || x.amax == 0 || x.amax >= block_steps::infinity;
  });
  return out;
}

FoundAmax amax_found(const ReadingWork& work, const ScaleRule& rule, const WantedAmax& wanted) {
  const double own = number_of_bits(work.amax(rule));
  FoundAmax out{.amax = wanted.some, .factor = number_of_bits(wanted.some) / own};
  std::vector<const NamedAmax*> found;
  for (const NamedAmax& one : work.other_amaxes(rule)) {
    if (wanted.is(one.amax)) found.push_back(&one);
  }
  if (!found.empty()) {
    return {found[0]->amax, number_of_bits(found[0]->amax) / own, words_of(found), true, true};
  }
  for (const NamedFactor& row : known_factors) {
    for (const bool over : {false, true}) {
      const double by = over ? 1 / row.factor : row.factor;
      const auto one = std::bit_cast<std::uint32_t>(static_cast<float>(own * by));
      if (!wanted.is(one) && std::abs(out.factor / by - 1) >= 1e-6) continue;
      return {wanted.is(one) ? one : wanted.some, by,
              over ? fmt::format("the tensor's over {}", row.words)
                   : fmt::format("{} times the tensor's", row.words),
              true};
    }
  }
  if (std::abs(out.factor - 1) < 1e-6) {
    out.words = "the tensor's but for its last bits";
    return out;
  }
  // So many digits that the factor is not 1.
  int digits = 4;
  while (digits < 9 && std::abs(out.factor - 1) < 20 * std::pow(10, -digits)) ++digits;
  out.words = fmt::format("{:.{}g} times the tensor's", out.factor, digits);
  return out;
}

std::string amax_words(const ReadingWork& work, const ScaleRule& rule, TensorScalePart part,
                       std::uint32_t stored) {
  const BlockFormat& format = work.format();
  const TensorScale own = tensor_scale(rule, format, work.amax(rule));
  if (part_of(own, part) != stored && is_scale_of_amax(rule, format, part, own.amax, stored)) {
    return "the tensor's, by another way of dividing, an ulp from the rule's";
  }
  for (const Format& narrow : {bfloat16, binary16}) {
    if (block_steps::held(narrow, part_of(own, part)) == stored) {
      return fmt::format("perhaps as the tensor's scale is rounded to {}", format_name(narrow));
    }
  }
  const auto is = [&](std::uint32_t amax) {
    return is_scale_of_amax(rule, format, part, amax, stored);
  };
  return amax_found(work, rule, {scale_of_part(rule, format, part, stored).amax, is}).words;
}

}  // namespace binade
