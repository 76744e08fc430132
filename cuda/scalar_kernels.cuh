// SPDX-License-Identifier: Apache-2.0
//
// The body of the kernels of scalar instructions. It either executes a range of cases and tallies
// the results against the emulator's, or stores the results of listed cases. The template parameter
// `Instructions` provides run(number, operands), which executes an instruction, and `kind`, the
// ScalarKind of its instructions; tests pass a stand-in. No assembly and no CUDA header is included
// here, so tests run the body on the CPU.
#pragma once

#include <cstdint>

#include "lib/cases/scalar_cases.h"
#include "lib/device/scalar_tally.h"

namespace binade {

/// Arguments of one launch. If `results` is null, the launch tallies cases; else it stores the
/// results of the cases in `listed` and tallies nothing. One kernel does both, because most of its
/// code makes operands and switches over instructions.
struct ScalarLaunch {
  ScalarOperation operation;
  int number = 0;  ///< index of the instruction in scalar_instructions()
  ScalarCases cases;
  const std::uint64_t* listed = nullptr;  ///< case numbers
  std::uint64_t* results = nullptr;       ///< one per listed case
};

/// The integer type of CUDA's 64-bit atomics.
using AtomicWord = unsigned long long;
static_assert(sizeof(AtomicWord) == sizeof(std::uint64_t));

/// Adds atomically.
__device__ inline void add_to(std::uint64_t& to, std::uint64_t x) {
  if (x != 0) atomicAdd(reinterpret_cast<AtomicWord*>(&to), static_cast<AtomicWord>(x));
}

/// Replaces `to` by the smaller of `to` and x, atomically.
__device__ inline void lower_to(std::uint64_t& to, std::uint64_t x) {
  if (x != ScalarTally::none) {
    atomicMin(reinterpret_cast<AtomicWord*>(&to), static_cast<AtomicWord>(x));
  }
}

/// Returns this thread's number in the grid.
__device__ inline std::uint64_t first_of_thread() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// Returns the number of threads in the grid.
__device__ inline std::uint64_t all_threads() { return std::uint64_t{gridDim.x} * blockDim.x; }

/// Executes the cases first + t, first + t + all_threads(), … below `end` in thread t of the grid.
/// Without a list these are case numbers, and the tally is added to `total`; with a list they are
/// indices i, and results[i] becomes the result of case listed[i]. Approximations have no emulator:
/// their results are hashed and not compared.
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
