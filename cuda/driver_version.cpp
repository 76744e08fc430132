// SPDX-License-Identifier: Apache-2.0
//
// Reads the driver's version by three functions of NVML, declared here as nvml.h declares them.
#include "cuda/driver_version.h"

#include <dlfcn.h>

#include <array>

namespace binade {

std::string driver_version() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto shut_down = reinterpret_cast<int (*)()>(dlsym(library, "nvmlShutdown"));
  const auto version =
      reinterpret_cast<int (*)(char*, unsigned)>(dlsym(library, "nvmlSystemGetDriverVersion"));
  std::array<char, 80> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
  if (init != nullptr && shut_down != nullptr && version != nullptr && init() == 0) {
    if (version(text.data(), text.size()) != 0) text[0] = '\0';
    shut_down();
  }
  dlclose(library);
  return text.data();
}

}  // namespace binade
