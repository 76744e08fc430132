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

/// Instructions with scales of blocks that no kernel runs: sparse ones, and 4X of ue8m0, which
/// nvcc 13.0 does not know.
bool has_none(const Instruction& x) {
  return is_scaled(x.model) &&
         (x.model.sparse_group != 0 || x.kind == ScaledKind::mxf4nvf4_4x_e8m0);
}

TEST_CASE("every instruction that is recorded has a kernel of its own type and tile") {
  std::set<const TileKernel*> used;
  for (const Architecture& on : architectures) {
    const int sm = on.sm;
    if (sm < 80) continue;
    std::size_t count = 0;
    for (const Instruction& x : instruction_forms(sm)) {
      if (dense_family(x.family) == Family::tcgen05 || has_none(x)) continue;
      const std::string name = instruction_name(x);
      CAPTURE(sm);
      CAPTURE(name);
      const TileKernel* kernel = find_tile_kernel(x);
      REQUIRE(kernel != nullptr);
      CHECK(kernel->types == x.types);
      CHECK(kernel->k == x.k);
      CHECK(kernel->variant.kind == x.kind);
      CHECK(std::stoi(kernel->arch) <= sm);
      used.insert(kernel);
      ++count;
    }
    CHECK(count > 50);
  }
  const std::size_t all = mma_kernels().size() + wmma_kernels().size() + wgmma_kernels().size() +
                          sparse_kernels().size() + scaled_kernels().size();
  CHECK(used.size() == all);
}

TEST_CASE("tcgen05 has none, nor have some with scales of blocks") {
  for (const Instruction& x : instruction_forms(120)) {
    if (has_none(x)) CHECK(find_tile_kernel(x) == nullptr);
  }
  for (const char* name :
       {"tcgen05.m128n256k16.f32.f16.f16", "tcgen05.sp.m128n256k32.f32.f16.f16"}) {
    CHECK(find_tile_kernel(parse_instruction(name, 100)) == nullptr);
  }
}

}  // namespace
}  // namespace binade
