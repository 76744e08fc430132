// SPDX-License-Identifier: Apache-2.0
//
// Executes cases of scalar instructions on the current GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lib/cases/scalar_cases.h"
#include "lib/device/scalar_tally.h"

namespace binade {

struct ScalarLaunch;  // scalar_kernels.cuh

/// The grid of every launch, in blocks and in threads of a block.
inline constexpr unsigned scalar_blocks = 2048;
inline constexpr unsigned scalar_threads = 256;

/// A kernel of one kind of instructions; scalar_body (scalar_kernels.cuh) says what its arguments
/// are.
using ScalarKernel = void (*)(ScalarLaunch, std::uint64_t first, std::uint64_t end,
                              ScalarTally* total);
extern const ScalarKernel conversion_kernel;
extern const ScalarKernel arithmetic_kernel;  ///< of arithmetic and of sums in memory
extern const ScalarKernel approximation_kernel;

/// Returns the target whose machine code in this program the current GPU executes, or nothing if
/// the program has no code for that GPU.
std::optional<SmTarget> loaded_target();

/// Executes the cases first … end - 1 of an instruction that loaded_target() has, and adds them to
/// `tally`. Throws Error if CUDA fails or a case was not executed.
void tally_scalar_on_gpu(const ScalarInstruction& instruction, const ScalarCases& cases,
                         std::uint64_t first, std::uint64_t end, ScalarTally& tally);
/// Sets results[i] to the result of case numbers[i]; both have one size. Throws Error if CUDA
/// fails.
void run_scalar_on_gpu(const ScalarInstruction& instruction, const ScalarCases& cases,
                       std::span<const std::uint64_t> numbers, std::span<std::uint64_t> results);

}  // namespace binade
