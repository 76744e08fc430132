// SPDX-License-Identifier: Apache-2.0
//
// Chooses the kernel of a product. If the model's chain of instructions is not one `dot`, the
// emulated kernel is started once for each instruction of the chain.
#include "cuda/multiply.h"

#include <algorithm>
#include <vector>

#include "cuda/emulated_matmul.h"
#include "cuda/gemm.h"

namespace binade {
namespace {

/// Returns whether x is an instruction of architecture `sm` that has a kernel of products. Its
/// model must be the architecture's, too: no GPU executes a model that a user has changed.
bool is_own_instruction(int sm, const Instruction& x) {
  const std::optional<Instruction> own =
      x.sm == sm ? gemm_instruction(sm, x.types.a, x.types.b, x.types.d) : std::nullopt;
  return own && has_gemm(*own) && x.m == own->m && x.n == own->n && x.k == own->k &&
         x.types == own->types && x.model == own->model;
}

/// Returns columns first … first + width - 1 of rows of k codes, row after row.
std::vector<std::uint64_t> columns_of(std::span<const std::uint64_t> rows, int k, int first,
                                      int width) {
  const auto pitch = static_cast<std::size_t>(k);
  std::vector<std::uint64_t> out;
  for (std::size_t at = static_cast<std::size_t>(first); at < rows.size(); at += pitch) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(at);
    out.insert(out.end(), begin, begin + width);
  }
  return out;
}

void emulate_dots(const MatrixProduct& x, int k, std::span<const std::uint64_t> a,
                  std::span<const std::uint64_t> b) {
  std::vector<std::uint64_t> c(x.sums.size());
  std::transform(x.sums.begin(), x.sums.end(), c.begin(),
                 [&](std::uint64_t sum) { return next_c(x.how.types, sum); });
  EmulatedMatmul product({x.how.model, x.how.types, x.m, x.n, k}, a, b, c);
  product.launch();
  product.results(x.sums);
}

}  // namespace

ProductWay multiply_on_gpu(int sm, const MatrixProduct& x) {
  if (is_own_instruction(sm, x.how)) {
    Gemm product(x.how, x.m, x.n, x.k, x.a, x.b, x.sums);
    product.launch();
    product.results(x.sums);
    return ProductWay::instruction;
  }
  if (is_one_dot(x.how.model, x.how.types, x.how.k)) {
    emulate_dots(x, x.k, x.a, x.b);
    return ProductWay::emulated;
  }
  for (int at = 0; at < x.k; at += x.how.k) {
    emulate_dots(x, x.how.k, columns_of(x.a, x.k, at, x.how.k), columns_of(x.b, x.k, at, x.how.k));
  }
  return ProductWay::emulated;
}

}  // namespace binade
