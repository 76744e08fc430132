// SPDX-License-Identifier: Apache-2.0
//
// Transformer Engine's AutoswitchGemm rule (its pull request 2883): a product whose low-precision
// operands lose too many values to underflow, or have too large an error, runs in high precision in
// the same iteration. Here an error that is NaN also switches; Transformer Engine compares by >,
// which is false for NaN.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

struct AutoswitchOptions {
  double underflow_percent = 5;  ///< a product switches if an operand loses more percent to zero
  double mse = 1e-4;             ///< or if an operand's mean squared error is larger or NaN
};

/// How much quantization changed an operand.
struct OperandLoss {
  double underflow_percent = 0;  ///< values that became zero and were not / all values · 100
  double mse = 0;                ///< mean of (after - before)², in binary64
};
/// Compares an operand before and after quantization; `after` is already divided by the operand's
/// scale. Throws Error if the sizes differ or are 0.
OperandLoss operand_loss(std::span<const float> before, std::span<const float> after);

/// What was decided for one of the three products of a layer, over all steps.
struct SwitchTally {
  std::string layer, gemm;  ///< gemm is "fprop", "dgrad" or "wgrad"
  std::uint64_t products = 0, switched = 0;
  OperandLoss
      worst;  ///< largest value of each member over operands and steps; NaN is the largest error
};

/// Decides for each product whether it switches, and counts its decisions.
class Autoswitch {
 public:
  explicit Autoswitch(const AutoswitchOptions& options = {}) : options_(options) {}
  /// Returns true if this product has to run in high precision.
  bool decide(std::string_view layer, std::string_view gemm, std::span<const OperandLoss> operands);
  /// Returns one tally per layer and product, in the order in which they came first.
  const std::vector<SwitchTally>& tallies() const { return tallies_; }

 private:
  AutoswitchOptions options_;
  std::vector<SwitchTally> tallies_;
};

}  // namespace binade
