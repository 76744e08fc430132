// SPDX-License-Identifier: Apache-2.0
//
// `dot` as one function of a device's code, so that nvcc compiles it once for all kernels of a source,
// and once for dense and sparse instructions: written out in every kernel it took most of the time.
#pragma once

#include "emulate/dot.h"

namespace binade {

__device__ BINADE_OUT_OF_LINE inline std::uint64_t shared_dot(const DotModel& model,
                                                              const DotTypes& types,
                                                              const std::uint64_t* a,
                                                              const std::uint64_t* b, int k,
                                                              std::uint64_t c) {
  std::uint64_t kept_a[32];
  std::uint64_t kept_b[32];
  if (model.sparse_group != 0) {
    keep_half(a, b, k, model.sparse_group, kept_a, kept_b);
    a = kept_a;
    b = kept_b;
    k /= 2;
  }
  return dense_dot(model, types, a, b, k, c);
}

}  // namespace binade
