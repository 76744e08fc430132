// SPDX-License-Identifier: Apache-2.0
//
// The version of NVIDIA's driver, which the CUDA runtime does not report.
#pragma once

#include <string>

namespace binade {

/// Returns the version, for example "580.159.04", from NVML, which is opened by dlopen; an empty
/// string if there is no NVML or it does not report the version.
std::string driver_version();

}  // namespace binade
