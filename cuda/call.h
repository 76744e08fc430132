// SPDX-License-Identifier: Apache-2.0
//
// Checked calls of the CUDA runtime: `must` throws Error if a call failed, and `launch` starts a
// kernel as `<<<>>>` does, for sources that nvcc does not compile.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <type_traits>

#include "lib/device/device.h"

namespace binade {

/// Throws Error if `status` is a failure. `call` is the name of the CUDA call, `doing` the kernel
/// and the case it works on. CUDA reports an error of a kernel at a later call, so the failed case
/// may be one step before the one named.
inline void must(cudaError_t status, const char* call, const std::string& doing) {
  if (status == cudaSuccess) return;
  throw Error(doing + ": " + call + " failed: " + cudaGetErrorName(status) + ", " +
              cudaGetErrorString(status) + "; run it again under compute-sanitizer");
}

/// Starts a kernel, given by the address of its `__global__` function, on the default stream.
/// Throws Error if the launch fails.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, const std::string& doing,
            std::type_identity_t<Parameters>... arguments) {
  void* addresses[] = {&arguments...};
  const auto* const code = reinterpret_cast<const void*>(kernel);
  static_cast<void>(cudaLaunchKernel(code, blocks, threads, addresses, 0, nullptr));
  must(cudaGetLastError(), "the launch", doing);
}

}  // namespace binade
