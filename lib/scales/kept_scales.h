// SPDX-License-Identifier: Apache-2.0
//
// The suspicions of scales that are kept: those that make half of what speaks equal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/scales/suspected_scales.h"

namespace binade {

/// What may have been done to scales.
struct ScaleChange {
  std::string_view kind;
  std::string words;
  double factor = 0;  ///< 0: none
};

class KeptScales {
 public:
  explicit KeptScales(std::vector<SuspectedScales>& out) : out_(&out) {}

  /// Keeps a suspicion by which these scales were made.
  void keep(SuspectedScales x, const Format& scale, std::span<const std::uint32_t> made,
            const StoredScales& stored) const;

  /// Compares changed(block) with what is stored, of all blocks if half of a sample is equal.
  template <class Changed>
  void keep_changed(const SuspectedScales& x, const StoredScales& stored, const ScaleChange& change,
                    const Changed& changed) const {
    bool is_freed = false;
    const auto add = [&](std::size_t i, ScaleAgreement& scales) {
      ++scales.of;
      const bool is_same = held_scale(changed(i), stored.held) == stored.codes[i];
      if (!is_same && stored.is_free(i)) {
        is_freed = true;
        ++scales.equal;
        ++scales.zeros;
        return true;
      }
      if (is_same) {
        ++scales.equal;
        scales.zeros += stored.codes[i] == 0 ? 1 : 0;
        return true;
      }
      if (!scales.first) scales.first = i;
      return false;
    };
    ScaleAgreement some;
    for (const std::size_t i : sampled_blocks(stored.codes.size())) add(i, some);
    if (some.speaks() < 0.5 && some.of > some.zeros) return;
    SuspectedScales out = x;
    out.words = joined_words({change.words, x.words});
    out.kind = change.kind;
    out.factor = change.factor;
    out.scales = {};
    out.unequal.resize(stored.codes.size());
    for (std::size_t i = 0; i < stored.codes.size(); ++i) out.unequal[i] = !add(i, out.scales);
    out.is_freed = is_freed;
    if (out.speaks() >= 0.5) out_->push_back(std::move(out));
  }

 private:
  std::vector<SuspectedScales>* out_;
};

}  // namespace binade
