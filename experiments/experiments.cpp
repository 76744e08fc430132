// SPDX-License-Identifier: Apache-2.0
//
// The list of experiments. BINADE_EXPERIMENTS, which meson.build makes of its own list, is X(name)
// of each.
#include <array>

#include "lib/runs/experiment.h"

namespace binade {

#define X(name) extern const Experiment name;
BINADE_EXPERIMENTS
#undef X

std::span<const Experiment> experiments() {
#define X(name) name,
  static const std::array all{BINADE_EXPERIMENTS};
#undef X
  return all;
}

}  // namespace binade
