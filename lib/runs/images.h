// SPDX-License-Identifier: Apache-2.0
//
// Labelled images in memory, on which the workloads train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace binade {

struct Images {
  std::size_t count = 0;
  std::size_t channels = 1, height = 0, width = 0;  ///< of each image
  std::size_t classes = 0;                          ///< labels are 0 … classes - 1
  std::vector<float> pixels;         ///< count × channels × height × width, in [0, 1]
  std::vector<std::int32_t> labels;  ///< one per image
};

struct ImageSplit {
  Images train, test;
};

}  // namespace binade
