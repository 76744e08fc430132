// SPDX-License-Identifier: Apache-2.0
//
// d = c + a·b by the GPU's own mma.sync, each element the chain of one instruction, k ascending.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "emulate/tensor_core.h"

namespace binade {

/// The mma.sync that a product of these types is made of: m16n8, 32 bytes of k.
std::optional<Instruction> gemm_instruction(int sm, const Format& a, const Format& b,
                                            const Format& d);

/// Whether there is a kernel for it.
bool has_gemm(const Instruction& instruction);

/// A product's arrays on the device, for an instruction that has a kernel: codes as in Matmul, k filled
/// up with +0 to whole instructions.
class Gemm {
 public:
  Gemm(const Instruction& instruction, int m, int n, int k, std::span<const std::uint64_t> a,
       std::span<const std::uint64_t> b, std::span<const std::uint64_t> c);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  void launch();
  void results(std::span<std::uint64_t> d) const;

 private:
  struct OnDevice;
  std::unique_ptr<OnDevice> on_device_;
};

}  // namespace binade
