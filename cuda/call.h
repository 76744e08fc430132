// SPDX-License-Identifier: Apache-2.0
//
// No CUDA call goes unchecked: `must` turns a failure into Error.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "lib/record/device.h"

namespace binade {

/// `doing`: the kernel and the case it works on. An error of an earlier kernel shows at a later
/// call, so the case named here is at most one step behind.
inline void must(cudaError_t status, const char* call, const std::string& doing) {
  if (status == cudaSuccess) return;
  throw Error(doing + ": " + call + " failed: " + cudaGetErrorName(status) + ", " +
              cudaGetErrorString(status) + "; run it again under compute-sanitizer");
}

}  // namespace binade
