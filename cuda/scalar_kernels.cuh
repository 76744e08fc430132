// SPDX-License-Identifier: Apache-2.0
//
// The body of the kernels of scalar instructions: cases through an instruction and through the
// emulator, or the results of listed cases. `Instructions` has run(number, operands) and the kind
// of what it runs; on the CPU a stand-in. No asm here and no CUDA header, so that a test can run it.
#pragma once

#include <cstdint>

#include "lib/cases/scalar_cases.h"
#include "lib/device/scalar_tally.h"

namespace binade {

/// One launch: an instruction, its cases. With `results` the cases are a list, and their results are
/// wanted and no tally. A kernel does both: most of it makes operands and switches over instructions.
struct ScalarLaunch {
  ScalarOperation operation;
  int number = 0;
  ScalarCases cases;
  const std::uint64_t* listed = nullptr;
  std::uint64_t* results = nullptr;
};

/// What CUDA's 64-bit atomics take.
using AtomicWord = unsigned long long;
static_assert(sizeof(AtomicWord) == sizeof(std::uint64_t));

__device__ inline void add_to(std::uint64_t& to, std::uint64_t x) {
  if (x != 0) atomicAdd(reinterpret_cast<AtomicWord*>(&to), static_cast<AtomicWord>(x));
}

__device__ inline void lower_to(std::uint64_t& to, std::uint64_t x) {
  if (x != ScalarTally::none) {
    atomicMin(reinterpret_cast<AtomicWord*>(&to), static_cast<AtomicWord>(x));
  }
}

__device__ inline std::uint64_t first_of_thread() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__device__ inline std::uint64_t all_threads() { return std::uint64_t{gridDim.x} * blockDim.x; }

/// Thread t of n takes the cases first + t, first + t + n, … below `end`, and tallies them; or, of a
/// list, results[i] of case listed[i].
template <class Instructions>
__device__ void scalar_body(const ScalarLaunch& launch, std::uint64_t first, std::uint64_t end,
                            ScalarTally* total) {
  const ScalarOperation& x = launch.operation;
  const bool is_list = launch.results != nullptr;
  ScalarTally tally;
  for (std::uint64_t i = first + first_of_thread(); i < end; i += all_threads()) {
    const std::uint64_t n = is_list ? launch.listed[i] : i;
    const ScalarOperands operands = operands_of(x, launch.cases, n);
    const std::uint64_t result = Instructions::run(launch.number, operands);
    if (is_list) {
      launch.results[i] = result;
    } else if constexpr (Instructions::kind == ScalarKind::approximation) {
      tally.add(x, n, result);
    } else {
      tally.add(x, n, result, emulate_as<Instructions::kind>(x, operands));
    }
  }
  if (is_list) return;
  add_to(total->cases, tally.cases);
  add_to(total->mismatches, tally.mismatches);
  add_to(total->nan_differences, tally.nan_differences);
  add_to(total->padding, tally.padding);
  lower_to(total->lowest_mismatch, tally.lowest_mismatch);
  lower_to(total->lowest_nan_difference, tally.lowest_nan_difference);
  add_to(total->hash, tally.hash);
}

}  // namespace binade
