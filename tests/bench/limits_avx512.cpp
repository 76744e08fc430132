// SPDX-License-Identifier: Apache-2.0
//
// Passes by vectors of AVX-512.
#include "emulate/fast/avx512.h"
#include "tests/bench/limits.h"

BINADE_AVX512_BEGIN
#include "tests/bench/traffic_pass.h"

namespace binade::bench {

Pass avx512_pass(const Traffic& traffic, Way way) {
  return pass_of<fast::Avx512Integers>(traffic, way);
}

}  // namespace binade::bench

BINADE_AVX512_END
