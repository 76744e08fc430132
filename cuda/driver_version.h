// SPDX-License-Identifier: Apache-2.0
//
// The version of NVIDIA's driver, which the CUDA runtime does not tell.
#pragma once

#include <string>

namespace binade {

/// As "580.159.04", from NVML by dlopen; empty where there is no NVML.
std::string driver_version();

}  // namespace binade
