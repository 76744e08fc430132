// SPDX-License-Identifier: Apache-2.0
//
// Counts how often elements went up, by the fraction that was discarded.
#include "lib/identify/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "emulate/instruction_shapes.h"
#include "emulate/project.h"
#include "lib/number/drawn_count.h"
#include "lib/text/percent.h"

namespace binade {

std::string neighbours_words(const KernelCase& given, const NearSums& sums) {
  const Format f = narrower_d(given).value_or(given.types.d);
  if (is_integer(f) || f.precision > binary16.precision) return "";
  DrawnCount all;
  std::array<DrawnCount, 8> parts;  // of equal width, from 0 to 1
  for (std::size_t at = 0; at < given.run.size(); ++at) {
    const double x = sums.exact[at];
    const auto rounded = [&](Rounding rounding) {
      return number_in(
          convert(std::bit_cast<std::uint64_t>(std::abs(x)), binary64, f, {.rounding = rounding})
              .bits,
          f);
    };
    if (!std::isfinite(x)) return "";
    const double found = std::copysign(1.0, x) * sums.found[at];
    const double low = rounded(Rounding::toward_zero), high = rounded(Rounding::toward_positive);
    const double slack = 0x1p-20 * sums.size[at];
    const bool is_low = found == low, is_high = found == high;
    if (!is_low && !is_high) {
      // An error of the sum may have carried it over a number of the format.
      if (!(std::abs(found - std::abs(x)) <= (high - low) + slack)) return "";
      continue;
    }
    if (low == high) continue;
    const double fraction = (std::abs(x) - low) / (high - low);
    all.add(is_high, fraction);
    parts[std::min<std::size_t>(static_cast<std::size_t>(8 * fraction), 7)].add(is_high, fraction);
  }
  const std::size_t small = parts[0].count + parts[1].count;
  const std::size_t large = parts[6].count + parts[7].count;
  if (all.count < 16 || small == 0 || large == 0) return "";
  const auto share = [](std::size_t part, std::size_t of) {
    return percent(static_cast<double>(part) / static_cast<double>(of));
  };
  const std::size_t small_up = parts[0].found + parts[1].found,
                    large_up = parts[6].found + parts[7].found;
  const double low_up = static_cast<double>(small_up) / static_cast<double>(small);
  const double high_up = static_cast<double>(large_up) / static_cast<double>(large);
  // To nearest, none of the small fractions goes up and all of the large do.
  if (low_up < 0.01 && high_up > 0.99) return "";
  const bool drawn = std::ranges::all_of(parts, &DrawnCount::agrees);
  const char* const what = 100 * all.found < all.count        ? "toward zero"
                           : 100 * all.found > 99 * all.count ? "away from zero"
                           : low_up > 0.99 && high_up < 0.01  ? "to the farther one"
                           : drawn                            ? "stochastically"
                                                              : "by a rule of its own";
  return fmt::format(
      "each element is one of the two numbers of {} beside the exact sum, rounded {}: {} went up "
      "in magnitude, the discarded fractions would give {}; of fractions below 1/4 {} "
      "went up, from 3/4 on {}",
      type_name(f), what, share(all.found, all.count),
      percent(all.expected / static_cast<double>(all.count)), share(small_up, small),
      share(large_up, large));
}

}  // namespace binade
