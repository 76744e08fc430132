// SPDX-License-Identifier: Apache-2.0
//
// Transformer Engine's AutoswitchGemm rule (its pull request 2883): a product whose low precision operands underflow
// too much or err too much runs in high precision in the same iteration. An error that is NaN switches too
// (Transformer Engine compares by >).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

struct AutoswitchOptions {
  double underflow_percent = 5;  ///< more than this percent of values rounded to zero
  double mse = 1e-4;             ///< or a larger mean squared error
};

/// An operand before and after it was quantized (and scaled back).
struct OperandLoss {
  double underflow_percent = 0;  ///< (nonzero before - nonzero after) / values · 100
  double mse = 0;                ///< mean of (after - before)², in binary64
};
OperandLoss operand_loss(std::span<const float> before, std::span<const float> after);

/// What was decided for one product of a layer, over all steps.
struct SwitchTally {
  std::string layer, gemm;  ///< "fprop", "dgrad", "wgrad"
  std::uint64_t products = 0, switched = 0;
  OperandLoss
      worst;  ///< largest of either figure over operands and steps; NaN is the largest error
};

/// Decides per layer and product, and counts what it decided.
class Autoswitch {
 public:
  explicit Autoswitch(const AutoswitchOptions& options = {}) : options_(options) {}
  /// true: this product is to run in high precision.
  bool decide(std::string_view layer, std::string_view gemm, std::span<const OperandLoss> operands);
  /// In the order in which the products came first.
  const std::vector<SwitchTally>& tallies() const { return tallies_; }

 private:
  AutoswitchOptions options_;
  std::vector<SwitchTally> tallies_;
};

}  // namespace binade
