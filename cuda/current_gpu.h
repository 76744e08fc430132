// SPDX-License-Identifier: Apache-2.0
//
// Selects the GPU that a thread's CUDA calls go to, and restores the selection of the caller.
#pragma once

#include <string>

#include "cuda/call.h"

namespace binade {

/// While an object lives, the CUDA calls of this thread go to GPU number `gpu`; its destructor
/// selects the GPU that was selected before. Throws Error, with `doing` as for `must`, if CUDA
/// fails.
class CurrentGpu {
 public:
  CurrentGpu(int gpu, const std::string& doing) {
    must(cudaGetDevice(&before_), "cudaGetDevice", doing);
    must(cudaSetDevice(gpu), "cudaSetDevice", doing);
  }
  ~CurrentGpu() { static_cast<void>(cudaSetDevice(before_)); }
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  int before_ = 0;
};

}  // namespace binade
