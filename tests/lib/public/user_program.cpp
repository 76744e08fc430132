// SPDX-License-Identifier: Apache-2.0
//
// What a user of the library writes. install_test.py builds it in every way in which the library
// can be linked, and lib/public/README.md shows it.
#include <binade/gemm.h>
#include <binade/report.h>

#include <iostream>
#include <vector>

int main() {
  const std::vector<float> gradients{0x1p-26F, 0x1p-25F, 3 * 0x1p-26F, 0x1p-3F};
  const auto report = binade::report_on_arrays({binade::named_array("fc1.weight.grad", gradients)});
  std::cout << report.loss_scale.reason << '\n';

  const auto kernel = binade::parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);
  const std::vector<float> a{0x1p-11F, 0x1p-23F}, b{0x1p-14F, 0x1p-23F};
  const auto operands =
      binade::rounded_operands(kernel.model, {.m = 1, .n = 1, .k = 2, .a = a, .b = b});
  const auto d = binade::gemm(kernel.model, operands);
  std::cout << std::hexfloat << binade::result_values(kernel.model, d)[0] << '\n';
}
