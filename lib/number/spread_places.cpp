// SPDX-License-Identifier: Apache-2.0
//
// One place in each of `most` equal parts of the range, further on by the golden ratio each time.
#include "lib/number/spread_places.h"

#include <algorithm>
#include <cstdint>

namespace binade {

std::vector<std::size_t> spread_places(std::size_t count, std::size_t most) {
  std::vector<std::size_t> out(std::min(count, most));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t begin = i * count / out.size(), end = (i + 1) * count / out.size();
    // The fractions of multiples of the golden ratio, in the top bits.
    const std::uint64_t fraction = (i + 1) * 0x9E3779B97F4A7C15 >> 40;
    out[i] = begin + static_cast<std::size_t>(fraction * (end - begin) >> 24);
  }
  return out;
}

}  // namespace binade
