// SPDX-License-Identifier: Apache-2.0
//
// Emulated matrix products on the current GPU: each element is the `dot` of a Tensor Core model,
// bit for bit, for every type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cuda/matmul_plan.h"

namespace binade {

/// A product whose arrays are in the device's memory. The constructor copies a, b and c, laid out
/// as Matmul (matmul_plan.h) says. Every call throws Error if CUDA fails.
class EmulatedMatmul {
 public:
  EmulatedMatmul(const Matmul& matmul, std::span<const std::uint64_t> a,
                 std::span<const std::uint64_t> b, std::span<const std::uint64_t> c);
  ~EmulatedMatmul();
  EmulatedMatmul(const EmulatedMatmul&) = delete;
  EmulatedMatmul& operator=(const EmulatedMatmul&) = delete;

  /// Starts d = c + a·b.
  void launch();
  /// Waits for the product and copies d, m × n encodings, row after row.
  void results(std::span<std::uint64_t> d) const;

 private:
  struct OnDevice;
  std::unique_ptr<OnDevice> on_device_;
};

}  // namespace binade
