// SPDX-License-Identifier: Apache-2.0
//
// What is known of a device's bulk kernels (quantize, range_count, products of matrices):
// whether they give the bytes of their definitions, and how near they come to the device's limits.
#pragma once

#include <cstdint>
#include <string>

namespace binade {

/// A kernel on one case, its bytes against those of the definition in emulate/.
struct KernelCheck {
  std::string kernel;        ///< "quantize"
  std::string what;          ///< "e4m3 stochastic, seed 1"
  std::uint64_t values = 0;  ///< results that were compared, counts included
  std::uint64_t different = 0;
  std::string first;  ///< the first that differs: where, which bits; empty if none does
};

/// A kernel's rate and the limit it is held against, both measured in one run.
struct KernelRate {
  std::string kernel, what;
  std::string unit;  ///< "GB/s", "TMAC/s"
  double rate = 0;
  double limit = 0;      ///< 0: there is none to measure
  std::string limit_is;  ///< "copy of device memory", "cuBLAS"
};

}  // namespace binade
