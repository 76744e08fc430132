// SPDX-License-Identifier: Apache-2.0
//
// Transformer Engine's AutoswitchGemm rule: a product whose low precision operands underflow too much or err too much
// runs in high precision in the same iteration. An error that is NaN switches too (Transformer Engine compares by >).
#pragma once

#include <cstdint>
#include <span>
#include <string>
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

struct SwitchDecision {
  std::string layer, gemm;  ///< "fprop", "dgrad", "wgrad"
  std::int64_t step = 0;
  OperandLoss worst;  ///< largest of either figure over the operands
  bool high_precision = false;
};

/// Decides per layer and product, and keeps what it decided.
class Autoswitch {
 public:
  explicit Autoswitch(const AutoswitchOptions& options = {}) : options_(options) {}
  /// true: this product is to run in high precision.
  bool decide(std::int64_t step, const std::string& layer, const std::string& gemm,
              std::span<const OperandLoss> operands);
  const std::vector<SwitchDecision>& decisions() const { return decisions_; }

 private:
  AutoswitchOptions options_;
  std::vector<SwitchDecision> decisions_;
};

}  // namespace binade
