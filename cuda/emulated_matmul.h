// SPDX-License-Identifier: Apache-2.0
//
// A matrix of `dot`s on the current GPU: the Tensor Core model, bit for bit, of any type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cuda/matmul_plan.h"

namespace binade {

/// A Matmul's arrays on the device.
class EmulatedMatmul {
 public:
  EmulatedMatmul(const Matmul& matmul, std::span<const std::uint64_t> a,
                 std::span<const std::uint64_t> b, std::span<const std::uint64_t> c);
  ~EmulatedMatmul();
  EmulatedMatmul(const EmulatedMatmul&) = delete;
  EmulatedMatmul& operator=(const EmulatedMatmul&) = delete;

  /// Starts d = c + a·b.
  void launch();
  void results(std::span<std::uint64_t> d) const;

 private:
  struct OnDevice;
  std::unique_ptr<OnDevice> on_device_;
};

}  // namespace binade
