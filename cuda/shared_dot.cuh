// SPDX-License-Identifier: Apache-2.0
//
// `dot` of emulate/dot.h as one function in a device's code that is not inlined. So nvcc compiles
// it once for all kernels of a source, dense and sparse; inlined in every kernel, it took most of
// the time of compilation.
#pragma once

#include "emulate/dot.h"

namespace binade {

/// Returns the encoding of c + a·b over k products. Of a sparse model it adds the products of the
/// half of a's elements that are kept; its k may be at most 64. `scales` are read by a scaled
/// model.
__device__ BINADE_OUT_OF_LINE inline std::uint64_t shared_dot(
    const DotModel& model, const DotTypes& types, const std::uint64_t* a, const std::uint64_t* b,
    int k, std::uint64_t c, const DotScales& scales = {}) {
  std::uint64_t kept_a[32];
  std::uint64_t kept_b[32];
  if (model.sparse_group != 0) {
    keep_half(a, b, k, model.sparse_group, kept_a, kept_b);
    a = kept_a;
    b = kept_b;
    k /= 2;
  }
  return dense_dot(model, types, a, b, k, c, NoTrace{}, scales);
}

}  // namespace binade
