// SPDX-License-Identifier: Apache-2.0
//
// open_device() of a static program (Meson's option `static`), which has no loader: there is no
// device.
#include "lib/device/device.h"

namespace binade {

OpenedDevice open_device() {
  return {
      nullptr,
      "no GPU: this program is static and loads no device module; ./dev build makes one that does"};
}

}  // namespace binade
