// SPDX-License-Identifier: Apache-2.0
//
// The random words of a run of elements. Equal to `random_word` of emulate/philox.h for each: Philox makes four words
// at a time, and blocks that do not wait for each other run side by side.
//
//     element   first … | 4·block .. 4·block + 3 | … first + n - 1
//                 part  `--- one call of Philox -'    part
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/philox.h"

namespace binade::fast {

/// out[i] = random_word(seed, stream, first + i) for i < n.
constexpr void random_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                            std::size_t n, std::uint32_t* out) {
  std::size_t done = 0;
  while (done < n) {
    const std::uint64_t at = first + done;
    const std::array<std::uint32_t, 4> words = binade::random_words(seed, stream, at / 4);
    const std::size_t skipped = at % 4;
    const std::size_t rest = n - done;
    const std::size_t taken = rest < 4 - skipped ? rest : 4 - skipped;
    for (std::size_t i = 0; i < taken; ++i) out[done + i] = words[skipped + i];
    done += taken;
  }
}

}  // namespace binade::fast
