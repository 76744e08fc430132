// SPDX-License-Identifier: Apache-2.0
//
// Parts are put together from eighths.
#include "lib/scales/part_amaxes.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

namespace binade {
namespace {

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

}  // namespace

const std::span<const NamedFactor> factors_of_tensor = known_factors;

const std::vector<PartAmax>& ReadingWork::amaxes_of_parts(const ScaleRule& rule) const {
  std::vector<PartAmax>& out = amaxes_of_parts_[rule.nan_is_amax ? 1 : 0];
  if (!out.empty()) return out;
  constexpr std::size_t most = 8;
  const std::size_t columns = reading_->shape.empty() ? 1 : reading_->shape.back();
  const std::size_t rows = columns == 0 ? 0 : x_.size() / columns;
  std::array<std::array<std::uint32_t, most>, 2> eighths{};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t part = 0; part < most; ++part) {
      const std::size_t begin = columns * part / most, end = columns * (part + 1) / most;
      std::uint32_t amax = 0;
      for (const float x : x_.subspan(r * columns + begin, end - begin)) {
        amax = next_amax(rule, amax, std::bit_cast<std::uint32_t>(x));
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
        out.push_back({amax, fmt::format("part {} of {} of the {}", part + 1, parts,
                                         axis == 0 ? "rows" : "columns")});
      }
    }
  }
  return out;
}

std::string amax_words(const ReadingWork& work, const ScaleRule& rule, std::uint32_t amax) {
  const double ratio = double{std::bit_cast<float>(amax)} / std::bit_cast<float>(work.amax(rule));
  for (const PartAmax& part : work.amaxes_of_parts(rule)) {
    if (part.amax == amax && amax != work.amax(rule)) return "that of " + part.words;
  }
  for (const NamedFactor& row : factors_of_tensor) {
    if (std::abs(ratio / row.factor - 1) < 1e-6)
      return fmt::format("{} times the tensor's", row.words);
    if (std::abs(ratio * row.factor - 1) < 1e-6)
      return fmt::format("the tensor's over {}", row.words);
  }
  if (std::abs(ratio - 1) < 1e-6) return "the tensor's but for its last bits";
  return fmt::format("{:.4g} times the tensor's", ratio);
}

}  // namespace binade
