// SPDX-License-Identifier: Apache-2.0
//
// `open_device` of a build without nvcc.
#include "lib/record/device.h"

namespace binade {

OpenedDevice open_device() {
  return {nullptr,
          "no GPU: built without CUDA; configure with -Dcuda=enabled and nvcc on the PATH"};
}

}  // namespace binade
