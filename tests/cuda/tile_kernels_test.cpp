// SPDX-License-Identifier: Apache-2.0
//
// The GPU path has a kernel for every instruction of the architectures that CUDA 13 compiles for,
// in each of its forms, but for tcgen05's; and no kernel that is no instruction's.
#include "cuda/tile_kernels.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "lib/device/record_dots.h"
#include "lib/instruction/instruction_name.h"

namespace binade {
namespace {

TEST_CASE("every instruction that is recorded has a kernel of its own type and tile") {
  std::set<const TileKernel*> used;
  for (const Architecture& on : architectures) {
    const int sm = on.sm;
    if (sm < 80) continue;
    std::size_t count = 0;
    for (const Instruction& x : recorded_instructions(sm)) {
      if (x.family == Family::tcgen05) continue;
      const std::string name = instruction_name(x);
      CAPTURE(sm);
      CAPTURE(name);
      const TileKernel* kernel = find_tile_kernel(x);
      REQUIRE(kernel != nullptr);
      CHECK(kernel->types == x.types);
      CHECK(kernel->k == x.k);
      CHECK(std::stoi(kernel->arch) <= sm);
      used.insert(kernel);
      ++count;
    }
    CHECK(count > 50);
  }
  const std::size_t all = mma_kernels().size() + wmma_kernels().size() + wgmma_kernels().size() +
                          sparse_kernels().size();
  CHECK(used.size() == all);
}

TEST_CASE("tcgen05 has none") {
  CHECK(find_tile_kernel(parse_instruction("tcgen05.m128n256k16.f32.f16.f16", 100)) == nullptr);
}

}  // namespace
}  // namespace binade
