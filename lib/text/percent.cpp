// SPDX-License-Identifier: Apache-2.0
//
// Chooses the number of digits so that no other share is rounded to 0 or to 1.
#include "lib/text/percent.h"

#include <fmt/format.h>

namespace binade {

std::string percent(double share) {
  const double p = 100 * share;
  if (p == 0 || share == 1) return p == 0 ? "0 %" : "100 %";
  if (p >= 99.95) return "> 99.9 %";
  if (p >= 0.995) return fmt::format("{:.1f} %", p);
  if (p >= 0.000995) return fmt::format("{:.2g} %", p);
  return p >= 9.95e-100 ? fmt::format("{:.1e} %", p) : fmt::format("{:.0e} %", p);
}

}  // namespace binade
