// SPDX-License-Identifier: Apache-2.0
//
// Statistics of gradients in one pass, in order and on one thread, so that the sums do not depend
// on the number of threads of the program.
#include "lib/amp/step_statistics.h"

#include <algorithm>
#include <cmath>

namespace binade {

TensorStatistics statistics_of(std::span<const float> values) {
  TensorStatistics out;
  out.values = values.size();
  for (const float x : values) {
    if (!std::isfinite(x)) {
      out.not_finite += 1;
      continue;
    }
    const double wide = x;
    out.zeros += x == 0 ? 1 : 0;
    out.amax = std::max(out.amax, std::abs(x));
    out.sum += wide;
    out.sum_of_squares += wide * wide;
  }
  return out;
}

StepStatistics statistics_of(std::span<const std::span<const float>> gradients) {
  StepStatistics out;
  for (const std::span<const float> gradient : gradients) {
    out.tensors.push_back(statistics_of(gradient));
    out.found_inf = out.found_inf || out.tensors.back().not_finite > 0;
    out.amax = std::max(out.amax, out.tensors.back().amax);
  }
  return out;
}

}  // namespace binade
