// SPDX-License-Identifier: Apache-2.0
//
// Cuts a product into pieces of rows, columns and k. The sums of one piece of k are the starting
// values of the next piece.
#include "lib/gemm/device_gemm.h"

#include <algorithm>
#include <string>

#include "lib/instruction/instruction_name.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

Instruction instruction_of(const NamedGemm& named) {
  Instruction out{.k = named.model.k, .types = named.model.types};
  if (named.sm != 0) out = parse_instruction(named.instruction, named.sm);
  out.model = named.model.model;
  return out;
}

/// Returns the operands k = at … at + width - 1 of `rows` lines, beginning with line `row`; +0
/// stands for those from K on.
std::vector<std::uint64_t> product_part(const std::vector<std::uint64_t>& codes, std::size_t k,
                                        std::size_t row, std::size_t rows, std::size_t at,
                                        std::size_t width, const Format& f) {
  std::vector<std::uint64_t> out(rows * width, zero_bits(f, false));
  for (std::size_t i = 0; i < rows; ++i) {
    const auto from = codes.begin() + static_cast<std::ptrdiff_t>((row + i) * k + at);
    std::copy_n(from, std::min(width, k - at),
                out.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  return out;
}

std::uint64_t start_of_sum(const GemmModel& g, const GemmElement<std::uint64_t>& x) {
  const Format& d = g.types.d;
  if (!g.sum.c_first || !x.has_c) return zero_bits(d, false);
  return g.c == d ? x.c : convert(x.c, g.c, d, {.nan = NanResult::nvidia}).bits;
}

}  // namespace

void check_order_for_device(const GemmModel& model) {
  const Accumulation& sum = model.sum;
  if (is_scaled(model.model)) {
    throw Error(
        "a device takes no scales of blocks; leave --device and --emulated out, and D is computed "
        "here");
  }
  const char* const option = sum.order != KOrder{}     ? "--k-order"
                             : sum.promote_every != 0  ? "--promote-every"
                             : sum.splits[0].parts > 1 ? "--split"
                                                       : nullptr;
  if (option == nullptr) return;
  throw Error(std::string("a device sums in one chain, k ascending; leave ") + option +
              " out, or --device and --emulated");
}

DeviceGemm gemm_on_device(Device& device, const NamedGemm& named, const GemmOperands& x,
                          const GemmProgress& progress, const ProductPiece& most) {
  const GemmModel& g = named.model;
  check_order_for_device(g);
  if (x.groups.any()) {
    throw Error(
        "--groups: a device takes one B; leave --device and --emulated out, and D is computed "
        "here");
  }
  MatrixProduct product{.how = instruction_of(named)};
  const auto step = static_cast<std::size_t>(g.k);
  const std::size_t k_at_once = std::max(most.k / step, std::size_t{1}) * step;
  DeviceGemm out{std::vector<std::uint64_t>(x.m * x.n)};
  std::vector<std::uint64_t> sums;
  for (std::size_t row = 0; row < x.m; row += most.rows) {
    const std::size_t rows = std::min(most.rows, x.m - row);
    for (std::size_t column = 0; column < x.n; column += most.columns) {
      const std::size_t columns = std::min(most.columns, x.n - column);
      const auto for_each = [&](const auto& f) {
        parallel_for(rows * columns, 4096, [&](std::size_t begin, std::size_t end, std::size_t) {
          for (std::size_t at = begin; at < end; ++at) {
            f(row + at / columns, column + at % columns, sums[at]);
          }
        });
      };
      sums.resize(rows * columns);
      for_each([&](std::size_t i, std::size_t j, std::uint64_t& sum) {
        sum = start_of_sum(g, x.element(i, j));
      });
      for (std::size_t at = 0; at < x.k; at += k_at_once) {
        const std::size_t width = (std::min(k_at_once, x.k - at) + step - 1) / step * step;
        const auto a = product_part(x.a, x.k, row, rows, at, width, g.types.a);
        const auto b = product_part(x.b, x.k, column, columns, at, width, g.types.b);
        product.m = static_cast<int>(rows);
        product.n = static_cast<int>(columns);
        product.k = static_cast<int>(width);
        product.a = a;
        product.b = b;
        product.sums = sums;
        expect_done(device, device.multiply(product, out.way));
      }
      for_each([&](std::size_t i, std::size_t j, std::uint64_t sum) {
        out.d[i * x.n + j] = epilogue(g, x.element(i, j), {sum, g.types.d});
      });
    }
    if (progress) progress(row + rows);
  }
  return out;
}

}  // namespace binade
