// SPDX-License-Identifier: Apache-2.0
//
// A user's program that needs the emulator's headers alone: some of it is computed by the compiler,
// the rest when it runs.
#include <binade/emulate.h>
#include <binade/version.h>

#include <cstdio>

static_assert(BINADE_VERSION_MAJOR == 0);
static_assert(binade::convert(0x33000000, binade::binary32, binade::binary16).bits == 0);
static_assert(binade::convert(0x33000001, binade::binary32, binade::binary16).bits == 1);

int main() {
  const float x[]{0x1p-26F, 3 * 0x1p-26F, 65520, 1};
  float out[4];
  binade::EventCounts counts;
  binade::quantize(x, out, 4, 0, {.format = binade::binary16}, counts);
  std::printf("%a %a %a %a\n%d to zero, %d overflow, exp %a\n", static_cast<double>(out[0]),
              static_cast<double>(out[1]), static_cast<double>(out[2]), static_cast<double>(out[3]),
              static_cast<int>(counts.to_zero), static_cast<int>(counts.overflow),
              static_cast<double>(binade::rounded_exp(0.1F)));
}
