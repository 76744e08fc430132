// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the scalar kernels on the CPU, with the emulator, right and wrong, in the place of
// the instructions: every case once, whatever the grid, and the tally of the loop that has one
// thread.
#include <doctest/doctest.h>

#include <vector>

#include "tests/cuda/simt.h"
// The comment keeps clang-format from sorting the next include before simt.h, whose keywords it
// uses.
#include "cuda/scalar_kernels.cuh"

namespace binade::scalar_kernels_test {
namespace {

/// The emulator, with one wrong bit in each result of a case whose first word is divisible by
/// `wrong`.
template <ScalarKind of>
struct StandIn {
  static constexpr ScalarKind kind = of;
  static inline std::uint64_t wrong = 0;

  static std::uint64_t run(int number, const ScalarOperands& operands) {
    const ScalarOperation& x = scalar_instructions()[static_cast<std::size_t>(number)].operation;
    const std::uint64_t right = x.kind == ScalarKind::approximation ? 0 : emulate(x, operands);
    return wrong != 0 && operands[0] % wrong == 0 ? right ^ 1 : right;
  }
};

template <ScalarKind kind>
void scalar_kernel(ScalarLaunch launch, std::uint64_t first, std::uint64_t end,
                   ScalarTally* total) {
  scalar_body<StandIn<kind>>(launch, first, end, total);
}

ScalarLaunch launch_of(const char* name, std::uint64_t most) {
  const ScalarInstruction& x = parse_scalar_instruction(name);
  return {.operation = x.operation, .number = x.number, .cases = cases_of(x.operation, most)};
}

template <ScalarKind kind>
ScalarTally run(const ScalarLaunch& launch, std::uint64_t first, std::uint64_t end, unsigned blocks,
                unsigned threads) {
  ScalarTally out;
  simt::launch({blocks}, {threads}, &scalar_kernel<kind>, launch, first, end, &out);
  return out;
}

template <ScalarKind kind>
ScalarTally by_hand(const ScalarLaunch& launch, std::uint64_t first, std::uint64_t end) {
  ScalarTally out;
  for (std::uint64_t n = first; n < end; ++n) {
    const ScalarOperands operands = operands_of(launch.operation, launch.cases, n);
    const std::uint64_t result = StandIn<kind>::run(launch.number, operands);
    if constexpr (kind == ScalarKind::approximation) {
      out.add(launch.operation, n, result);
    } else {
      out.add(launch.operation, n, result, emulate(launch.operation, operands));
    }
  }
  return out;
}

template <ScalarKind kind>
void check(const char* name, std::uint64_t most, std::uint64_t wrong, bool differs) {
  CAPTURE(name);
  StandIn<kind>::wrong = wrong;
  const ScalarLaunch launch = launch_of(name, most);
  const std::uint64_t first = launch.cases.count / 3, end = first + 1003;
  const ScalarTally expected = by_hand<kind>(launch, first, end);
  CHECK(expected.cases == 1003);
  CHECK((expected.mismatches > 0) == differs);
  for (const auto& [blocks, threads] : {std::pair{1U, 1U}, {3U, 64U}, {40U, 32U}}) {
    CHECK(run<kind>(launch, first, end, blocks, threads) == expected);
  }
  StandIn<kind>::wrong = 0;
}

}  // namespace

TEST_CASE("every case is run once and tallied, whatever the grid") {
  using enum ScalarKind;
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{5}}) {
    check<conversion>("cvt.rn.f16.f32", std::uint64_t{1} << 32, wrong, wrong != 0);
    check<conversion>("cvt.rs.satfinite.e2m1x4.f32", 5000, wrong, wrong != 0);
    check<conversion>("cvt.rz.tf32.f32", std::uint64_t{1} << 32, wrong, false);  // in the padding
    check<arithmetic>("fma.rn.ftz.f32", 5000, wrong, wrong != 0);
    check<arithmetic>("add.f16x2", std::uint64_t{1} << 32, wrong, wrong != 0);
    check<approximation>("tanh.approx.f32", std::uint64_t{1} << 32, wrong, false);
  }
}

TEST_CASE("a kernel of arithmetic serves sums in memory") {
  const ScalarLaunch launch = launch_of("red.global.add.f32", 5000);
  const ScalarTally tally = run<ScalarKind::arithmetic>(launch, 0, 2000, 2, 96);
  CHECK(tally.cases == 2000);
  CHECK(tally.mismatches == 0);
  CHECK(tally.hash == by_hand<ScalarKind::arithmetic>(launch, 0, 2000).hash);
}

TEST_CASE("the lowest differing case of all threads is found") {
  const ScalarLaunch launch = launch_of("cvt.rn.f16.f32", std::uint64_t{1} << 32);
  StandIn<ScalarKind::conversion>::wrong = 1000;
  const ScalarTally tally =
      run<ScalarKind::conversion>(launch, 0x3F800001, 0x3F800001 + 5000, 4, 64);
  StandIn<ScalarKind::conversion>::wrong = 0;
  CHECK(tally.mismatches == 5);
  CHECK(tally.lowest_mismatch == (0x3F800001 / 1000 + 1) * 1000);
  CHECK(tally.nan_differences == 0);
  CHECK(tally.lowest_nan_difference == ScalarTally::none);
}

TEST_CASE("no cases leave an empty tally") {
  const ScalarLaunch launch = launch_of("cvt.rn.f16.f32", std::uint64_t{1} << 32);
  CHECK(run<ScalarKind::conversion>(launch, 7, 7, 2, 64) == ScalarTally{});
}

TEST_CASE("listed cases give their results in the order of the list") {
  ScalarLaunch launch = launch_of("cvt.rn.f16.f32", std::uint64_t{1} << 32);
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 300; ++i) numbers.push_back(i * 0x9E3779B1 % launch.cases.count);
  std::vector<std::uint64_t> results(numbers.size(), ~std::uint64_t{0});
  launch.listed = numbers.data();
  launch.results = results.data();
  simt::launch({2}, {64}, &scalar_kernel<ScalarKind::conversion>, launch, std::uint64_t{0},
               std::uint64_t{numbers.size()}, static_cast<ScalarTally*>(nullptr));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CHECK(results[i] == emulate(launch.operation, {numbers[i]}));
  }
}

}  // namespace binade::scalar_kernels_test
