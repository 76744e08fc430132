// SPDX-License-Identifier: Apache-2.0
//
// Passes by vectors of AVX2.
#include "emulate/fast/avx2.h"
#include "tests/bench/limits.h"

BINADE_AVX2_BEGIN
#include "tests/bench/traffic_pass.h"

namespace binade::bench {

Pass avx2_pass(const Traffic& traffic, Way way) {
  return pass_of<fast::Avx2Integers>(traffic, way);
}

}  // namespace binade::bench

BINADE_AVX2_END
