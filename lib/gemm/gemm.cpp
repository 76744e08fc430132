// SPDX-License-Identifier: Apache-2.0
//
// Prepares a product and computes it.
#include "lib/gemm/gemm.h"

#include "lib/gemm/model_check.h"
#include "lib/gemm/prepared_product.h"

namespace binade {

std::vector<std::uint64_t> gemm(const GemmModel& model, const GemmOperands& operands,
                                const GemmProgress& progress) {
  check(model, added_in(operands));
  check(sizes_of(operands));
  const ProductShape shape{operands.k,
                           !operands.c.empty(),
                           !operands.bias.empty(),
                           0,
                           {!operands.a_scale.empty(), !operands.b_scale.empty()}};
  return PreparedProduct(model, shape).all(operands, progress);
}

}  // namespace binade
