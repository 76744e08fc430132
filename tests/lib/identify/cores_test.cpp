// SPDX-License-Identifier: Apache-2.0
//
// The cores that the search tries: all of them, those of some architectures, chains; and which come
// first.
#include "lib/identify/cores.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "lib/identify/identification.h"
#include "tests/lib/io/files.h"

namespace binade::cores_test {
namespace {

constexpr KernelTypes half_to_half{binary16, binary16, binary16, binary16, binary16};
constexpr KernelTypes floats{binary32, binary32, binary32, binary32, binary32};

std::size_t chains_of(const std::vector<Core>& cores) {
  return static_cast<std::size_t>(std::ranges::count_if(cores, &Core::is_chain));
}

std::set<int> architectures_of(const std::vector<Core>& cores) {
  std::set<int> out;
  for (const Core& core : cores) {
    for (const CoreName& name : core.names) {
      out.insert(name.architectures.begin(), name.architectures.end());
    }
  }
  return out;
}

TEST_CASE("chains come before instructions, on a GPU after them") {
  const std::vector<Core> open = cores_for(half_to_half);
  const std::vector<Core> gpu = cores_for(half_to_half, {.gpu = true});
  REQUIRE(open.size() == gpu.size());
  CHECK(open.front().is_chain());
  CHECK_FALSE(open.back().is_chain());
  CHECK_FALSE(gpu.front().is_chain());
  CHECK(gpu.back().is_chain());
  CHECK(std::ranges::is_partitioned(open, &Core::is_chain));
}

TEST_CASE("chains alone have no instruction, a CPU's no tf32") {
  const std::vector<Core> chains = cores_for(floats, {.instructions = false});
  CHECK(chains_of(chains) == chains.size());
  const std::vector<Core> cpu = cores_for(floats, {.instructions = false, .tf32 = false});
  CHECK(chains_of(cpu) == cpu.size());
  CHECK(cpu.size() < chains.size());
  for (const Core& core : cpu) CHECK(core.plain.types.a == binary32);
}

TEST_CASE("where products are exact, rounding them makes no other model") {
  const auto chain = [](const KernelTypes& types, const Format& sum) {
    std::vector<std::size_t> names;
    for (const Core& core : cores_for(types, {.instructions = false, .tf32 = false})) {
      if (core.plain.types.d == sum) names.push_back(core.names.size());
    }
    return names;
  };
  using Names = std::vector<std::size_t>;
  const KernelTypes brains{bfloat16, bfloat16, bfloat16, bfloat16, bfloat16};
  CHECK(chain(half_to_half, binary32) == Names{2});
  CHECK(chain(half_to_half, binary16) == Names{1, 1});
  CHECK(chain(brains, binary32) == Names{1, 1});  // 2^-133 squared
  CHECK(chain(brains, binary64) == Names{2});
  CHECK(chain(floats, binary32) == Names{1, 1});
  CHECK(chain(floats, binary64) == Names{2});
}

TEST_CASE("a product a part, added as they come, is no order of its own") {
  for (const std::size_t k : {std::size_t{8}, std::size_t{64}}) {
    const std::vector<Core> cores = cores_for(floats, {.instructions = false, .tf32 = false});
    std::size_t plain = 0;
    for (const Candidate& x : candidates_for(cores, {floats, k, false, false, {}})) {
      const Split& split = x.model.sum.splits[0];
      const bool alone =
          split.parts == static_cast<int>(k) && split.reduction == Reduction::ascending;
      CHECK(!(alone && x.model.sum.partial == x.model.types.d && x.model.sum.splits[1].parts <= 1));
      plain += x.departures == 0 ? 1 : 0;
    }
    CHECK(plain > 0);
  }
}

TEST_CASE("architectures restrict the instructions and leave the chains") {
  const std::vector<Core> all = cores_for(half_to_half);
  CHECK(architectures_of(all).size() > 5);
  const std::vector<Core> some = cores_for(half_to_half, {.architectures = {75, 90}});
  CHECK(architectures_of(some) == std::set<int>{75, 90});
  CHECK(chains_of(some) == chains_of(all));
  CHECK(some.size() < all.size());
}

KernelRun run_of(std::vector<std::uint64_t> a, std::vector<std::uint64_t> d) {
  return {
      .m = 1, .n = 1, .k = 1, .a = std::move(a), .b = {0}, .c = {}, .bias = {}, .d = std::move(d)};
}

TEST_CASE("narrow operands and NVIDIA's NaN are a GPU's") {
  const auto gpu = [](const KernelTypes& types, const KernelRun& run) {
    return looks_like_gpu(types, std::span(&run, 1));
  };
  CHECK_FALSE(gpu(half_to_half, run_of({0x3C00}, {0x3C00})));
  CHECK(gpu(half_to_half, run_of({0x7C00}, {0x7FFF})));        // infinity times zero
  CHECK_FALSE(gpu(half_to_half, run_of({0x7C00}, {0x7E00})));  // a CPU's
  CHECK_FALSE(gpu(half_to_half, run_of({0x7C00}, {0xFE00})));
  CHECK_FALSE(gpu(half_to_half, run_of({0x7FFF}, {0x7FFF})));  // propagated
  CHECK(gpu(floats, run_of({0x7F800000}, {0x7FFFFFFF})));
  CHECK_FALSE(gpu(floats, run_of({0x7F800000}, {0x7FC00000})));
  KernelTypes narrow = floats;
  narrow.a = narrow.b = e4m3;
  CHECK(gpu(narrow, run_of({0x38}, {0x3F800000})));
  narrow.a = narrow.b = s8;
  narrow.d = s32;
  CHECK_FALSE(gpu(narrow, run_of({1}, {0x7FFFFFFF})));
  const KernelTypes to_e4m3{binary16, binary16, binary32, e4m3, binary32};
  CHECK_FALSE(gpu(to_e4m3, run_of({0x7C00}, {0x7F})));  // its only NaN
}

TEST_CASE("what identify looked at is told, a GPU where the bits are one's") {
  const KernelRun one{
      .m = 1, .n = 1, .k = 1, .a = {0x3C00}, .b = {0x3C00}, .c = {}, .bias = {}, .d = {0x3C00}};
  CHECK(identify(half_to_half, {one}, {}, {}).searched == Searched{});
  const KernelRun nan{
      .m = 1, .n = 1, .k = 1, .a = {0x7C00}, .b = {0}, .c = {}, .bias = {}, .d = {0x7FFF}};
  const Identification gpu = identify(half_to_half, {nan}, {}, {});
  CHECK(gpu.searched.gpu);
  CHECK_FALSE(gpu.cores[0].is_chain());
  const Identification chains = identify(half_to_half, {nan}, {}, {}, {}, {.instructions = false});
  CHECK_FALSE(chains.searched.gpu);
  CHECK(chains_of(chains.cores) == chains.cores.size());
  const KernelTypes integers{s8, s8, s32, s32, s32};
  const KernelRun product{
      .m = 1, .n = 1, .k = 1, .a = {1}, .b = {1}, .c = {}, .bias = {}, .d = {1}};
  const Identification loop = identify(integers, {product}, {}, {}, {}, {.instructions = false});
  CHECK(!loop.result.explaining.empty());  // sums of integers are exact, on any machine
}

}  // namespace
}  // namespace binade::cores_test
