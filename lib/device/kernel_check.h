// SPDX-License-Identifier: Apache-2.0
//
// Results of checks and measurements of a device's bulk kernels (quantize, range_count, products of
// matrices): whether they give the bytes of their definitions, and how near they come to the
// device's limits.
#pragma once

#include <cstdint>
#include <string>

namespace binade {

/// The comparison of a kernel's bytes with those of its definition in emulate/, on one case.
struct KernelCheck {
  std::string kernel;           ///< "quantize"
  std::string what;             ///< "e4m3 stochastic, seed 1"
  std::uint64_t values = 0;     ///< number of results that were compared, counts included
  std::uint64_t different = 0;  ///< number of results that differ
  std::string first;            ///< place and bits of the first that differs, or empty
};

/// A kernel's rate, which was measured, and the limit it is held against, which was measured in the
/// same run or estimated.
struct KernelRate {
  std::string kernel, what;
  std::string unit;  ///< "GB/s", "TMAC/s"
  double rate = 0;
  double limit = 0;      ///< in the same unit; 0 if there is no limit
  std::string limit_is;  ///< what the limit is, such as "cuBLAS", or why there is none
};

}  // namespace binade
