// SPDX-License-Identifier: Apache-2.0
//
// No CUDA call goes unchecked: `must` turns a failure into Error, and `launch` is `<<<>>>` for sources
// that nvcc does not compile.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <type_traits>

#include "lib/device/device.h"

namespace binade {

/// `doing`: the kernel and the case it works on. An error of an earlier kernel shows at a later
/// call, so the case named here is at most one step behind.
inline void must(cudaError_t status, const char* call, const std::string& doing) {
  if (status == cudaSuccess) return;
  throw Error(doing + ": " + call + " failed: " + cudaGetErrorName(status) + ", " +
              cudaGetErrorString(status) + "; run it again under compute-sanitizer");
}

/// Starts a kernel that is the host's name of a `__global__` function.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, const std::string& doing,
            std::type_identity_t<Parameters>... arguments) {
  void* addresses[] = {&arguments...};
  const auto* const code = reinterpret_cast<const void*>(kernel);
  static_cast<void>(cudaLaunchKernel(code, blocks, threads, addresses, 0, nullptr));
  must(cudaGetLastError(), "the launch", doing);
}

}  // namespace binade
