// SPDX-License-Identifier: Apache-2.0
//
// Matrix products d = c + a·b by the GPU's own mma.sync. Each element is the chain of one
// instruction, with k ascending.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "emulate/tensor_core.h"

namespace binade {

/// Returns the mma.sync of architecture `sm` that products of these types (c of type d) use: m16n8
/// with a k of 32 bytes; nothing if the architecture has none.
std::optional<Instruction> gemm_instruction(int sm, const Format& a, const Format& b,
                                            const Format& d);

/// Returns whether there is a kernel of products by this instruction.
bool has_gemm(const Instruction& instruction);

/// A product whose arrays are in the device's memory, by an instruction for which has_gemm is true.
/// The constructor copies a, b and c, encodings laid out as Matmul (matmul_plan.h) says, and fills
/// k up with +0 to whole instructions. It throws Error if there is no kernel, and every call if
/// CUDA fails.
class Gemm {
 public:
  Gemm(const Instruction& instruction, int m, int n, int k, std::span<const std::uint64_t> a,
       std::span<const std::uint64_t> b, std::span<const std::uint64_t> c);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// Starts d = c + a·b.
  void launch();
  /// Waits for the product and copies d, m × n encodings, row after row.
  void results(std::span<std::uint64_t> d) const;

 private:
  struct OnDevice;
  std::unique_ptr<OnDevice> on_device_;
};

}  // namespace binade
