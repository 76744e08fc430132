// SPDX-License-Identifier: Apache-2.0
//
// The random words of a run of elements, equal to `random_word` of emulate/philox.h for each. One
// call of Philox makes the words of four neighbouring elements, so that a run takes a quarter of
// the calls; the first and the last block may be used in part. Blocks do not wait for each other,
// and a processor runs several side by side.
//
//     first = 6, n = 7      6   7 | 8   9   10  11 | 12
//     word of the block     2   3 | 0   1   2   3  | 0
//     block                 1       2                3
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulate/philox.h"

namespace binade::fast {

/// Sets out[i] = random_word(seed, stream, first + i) for i < n.
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
