// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a known model with a mistake each: the same is told of chains and of Tensor Cores.
#include "lib/identify/known_model.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/gemm/named_gemm.h"
#include "tests/lib/identify/kernel_draw.h"

namespace binade::known_model_test {
namespace {

constexpr std::size_t side = 24, k = 24;

struct KnownKernel {
  const char* instruction;
  int sm;
};

struct Mistake {
  const char* words;
  void (*made)(KernelRun& given, const GemmModel& g);
};

void turn(std::vector<std::uint64_t>& square) {
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < i; ++j) std::swap(square[i * side + j], square[j * side + i]);
  }
}

/// Makes D of the operands after a change that the kernel does not tell of.
void made_of(KernelRun& given, GemmModel g, void (*change)(KernelRun& other)) {
  KernelRun other = given;
  change(other);
  test::compute(g, other);
  given.d = other.d;
}

const Mistake mistakes[]{
    {"D transposed", [](KernelRun& x, const GemmModel&) { turn(x.d); }},
    {"A transposed",
     [](KernelRun& x, const GemmModel& g) {
       made_of(x, g, [](KernelRun& other) { turn(other.a); });
     }},
    {"the sum scaled by 2^-3",
     [](KernelRun& x, GemmModel const& g) {
       GemmModel scaled = g;
       scaled.epilogue.alpha = 0.125;
       test::compute(scaled, x);
     }},
    {"the last 8 k of K left out",
     [](KernelRun& x, const GemmModel& g) {
       made_of(x, g, [](KernelRun& other) {
         for (std::size_t at = 0; at < side * k; ++at) {
           if (at % k >= k - 8) other.a[at] = 0;
         }
       });
     }},
};

TEST_CASE("a mistake is told in the same words whatever the arithmetic is") {
  for (const KnownKernel& kernel :
       {KnownKernel{"fma.rn.f32.f32.f32.f32", 0}, KnownKernel{"mul_add.rn.f32.f16.f16.f32", 0},
        KnownKernel{"mma.m16n8k8.f32.f16.f16.f32", 90}}) {
    CAPTURE(std::string(kernel.instruction));
    const GemmModel g = parse_gemm(kernel.instruction, kernel.sm).model;
    const KernelTypes types{g.types.a, g.types.b, binary32, binary32, binary32};
    test::Random random(3);
    KernelRun right = test::draw_run(random, types, {side, side, k}, false, false);
    test::compute(g, right);
    CHECK(known_model_hints({types, right, {}}, g).empty());
    for (const Mistake& mistake : mistakes) {
      CAPTURE(std::string(mistake.words));
      KernelRun run = right;
      mistake.made(run, g);
      const std::vector<KnownModelHint> hints = known_model_hints({types, run, {}}, g);
      REQUIRE(!hints.empty());
      CHECK(hints[0].words.substr(0, std::string(mistake.words).size()) == mistake.words);
      CHECK(hints[0].tried == side * side);
      CHECK(hints[0].equal == side * side);
    }
    KernelRun noise = right;
    for (std::uint64_t& code : noise.d) code = test::draw_usual(random, binary32);
    CHECK(known_model_hints({types, noise, {}}, g).empty());
  }
}

}  // namespace
}  // namespace binade::known_model_test
