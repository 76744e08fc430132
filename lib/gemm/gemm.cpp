// SPDX-License-Identifier: Apache-2.0
//
// Prepares a product and computes it.
#include "lib/gemm/gemm.h"

#include "lib/gemm/model_check.h"
#include "lib/gemm/prepared_product.h"

namespace binade {

std::vector<std::uint64_t> gemm(const GemmModel& model, const GemmOperands& operands,
                                const GemmProgress& progress) {
  check(model, {!operands.c.empty(), !operands.bias.empty()});
  check(sizes_of(operands));
  const ProductShape shape{operands.k, !operands.c.empty(), !operands.bias.empty()};
  return PreparedProduct(model, shape).all(operands, progress);
}

}  // namespace binade
