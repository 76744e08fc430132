// SPDX-License-Identifier: Apache-2.0
//
// Cases of scalar instructions through the GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lib/cases/scalar_cases.h"
#include "lib/device/scalar_tally.h"

namespace binade {

struct ScalarLaunch;  // scalar_kernels.cuh

inline constexpr unsigned scalar_blocks = 2048;
inline constexpr unsigned scalar_threads = 256;

/// The kernel of one kind of instructions.
using ScalarKernel = void (*)(ScalarLaunch, std::uint64_t first, std::uint64_t end,
                              ScalarTally* total);
extern const ScalarKernel conversion_kernel;
extern const ScalarKernel arithmetic_kernel;  ///< and memory
extern const ScalarKernel approximation_kernel;

/// The target whose code of this program the current GPU runs; none: there is no such code.
std::optional<SmTarget> loaded_target();

/// Device's calls (lib/device/device.h) on the current GPU, of an instruction that loaded_target() has.
void tally_scalar_on_gpu(const ScalarInstruction& instruction, const ScalarCases& cases,
                         std::uint64_t first, std::uint64_t end, ScalarTally& tally);
void run_scalar_on_gpu(const ScalarInstruction& instruction, const ScalarCases& cases,
                       std::span<const std::uint64_t> numbers, std::span<std::uint64_t> results);

}  // namespace binade
