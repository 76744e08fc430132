// SPDX-License-Identifier: Apache-2.0
//
// A thread has one current GPU, which its caller may have chosen and finds unchanged.
#pragma once

#include <string>

#include "cuda/call.h"

namespace binade {

/// While it lives, what this thread calls goes to a GPU.
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
