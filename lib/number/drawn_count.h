// SPDX-License-Identifier: Apache-2.0
//
// Whether things happened as often as random numbers would let them.
#pragma once

#include <cmath>
#include <cstddef>

namespace binade {

/// How often something happened of so many times, and how often it would if it were drawn with a
/// probability each time.
struct DrawnCount {
  std::size_t count = 0, found = 0;
  double expected = 0, variance = 0;

  void add(bool happened, double probability) {
    ++count;
    found += happened ? 1U : 0U;
    expected += probability;
    variance += probability * (1 - probability);
  }
  /// Whether no more is missing, or too many, than five standard deviations.
  bool agrees() const {
    constexpr double deviations = 5;
    return std::abs(static_cast<double>(found) - expected) <= deviations * std::sqrt(variance);
  }
};

}  // namespace binade
