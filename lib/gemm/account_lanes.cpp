// SPDX-License-Identifier: Apache-2.0
//
// Compiles account_lanes.inc once for each level. A namespace has the name of its level's
// translation unit, which says whose instructions its functions have. `width` is the number of
// lanes of its vectors: GCC turns vectors that are wider than the machine's into scalar code.
#include "lib/gemm/account_lanes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "emulate/dot.h"
#ifdef __x86_64__
#include "emulate/fast/avx512.h"
#endif

namespace binade::lanes::Portable {
inline constexpr int width = 8;  // with fewer lanes GCC makes no scalars, but slower vectors
#include "emulate/fast/lanes.inc"
#include "lib/gemm/account_lanes.inc"
}  // namespace binade::lanes::Portable

#ifdef __x86_64__
BINADE_AVX2_BEGIN
namespace binade::lanes::Avx2 {
inline constexpr int width = 4;
#include "emulate/fast/lanes.inc"
#include "lib/gemm/account_lanes.inc"
}  // namespace binade::lanes::Avx2
BINADE_AVX2_END

BINADE_AVX512_BEGIN
namespace binade::lanes::Avx512 {
inline constexpr int width = 8;
#include "emulate/fast/lanes.inc"
#include "lib/gemm/account_lanes.inc"
}  // namespace binade::lanes::Avx512
BINADE_AVX512_END
#endif

namespace binade::lanes {

// A level without lanes of its own takes those of the level below.
LaneRun lane_run(const Kernels& kernels) {
  const auto* const row = std::ranges::find_if(
      levels, [&](const NamedLevel& x) { return &kernels == &binade::kernels(x.level); });
  const Level level = row != levels.end() ? row->level : Level::portable;
  if (level == Level::reference) return nullptr;
#ifdef __x86_64__
  if (level >= Level::avx512) return Avx512::run;
  if (level >= Level::avx2) return Avx2::run;
#endif
  return Portable::run;
}

}  // namespace binade::lanes
