// SPDX-License-Identifier: Apache-2.0
//
// Which scales a suspicion leaves unequal is kept beside their number.
#include "lib/scales/kept_scales.h"

namespace binade {

void KeptScales::keep(SuspectedScales x, const Format& scale, std::span<const std::uint32_t> made,
                      const StoredScales& stored) const {
  x.scales = scales_agree(scale, made, stored);
  x.unequal.resize(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    x.unequal[i] = held_scale(made[i], stored.held) != stored.codes[i];
    if (!x.unequal[i] || !stored.is_free(i)) continue;
    x.unequal[i] = false;
    x.is_freed = true;
    ++x.scales.equal;
    ++x.scales.zeros;
  }
  if (x.speaks() < 0.5) return;
  out_->push_back(std::move(x));
}

}  // namespace binade
