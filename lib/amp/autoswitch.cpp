// SPDX-License-Identifier: Apache-2.0
//
// Two figures per operand, the worst of each over a product's operands, two thresholds.
#include "lib/amp/autoswitch.h"

#include <algorithm>
#include <cmath>

#include "lib/tensor/error.h"

namespace binade {

OperandLoss operand_loss(std::span<const float> before, std::span<const float> after) {
  if (before.size() != after.size() || before.empty()) {
    throw Error(
        "autoswitch: an operand has to have as many values after quantization as before, and at "
        "least "
        "one");
  }
  std::uint64_t lost = 0;
  double squares = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double difference = static_cast<double>(after[i]) - static_cast<double>(before[i]);
    lost += before[i] != 0 && after[i] == 0 ? 1 : 0;
    squares += difference * difference;
  }
  const auto values = static_cast<double>(before.size());
  return {100 * static_cast<double>(lost) / values, squares / values};
}

bool Autoswitch::decide(std::int64_t step, const std::string& layer, const std::string& gemm,
                        std::span<const OperandLoss> operands) {
  SwitchDecision decision{layer, gemm, step, {}, false};
  for (const OperandLoss& loss : operands) {
    decision.worst.underflow_percent =
        std::max(decision.worst.underflow_percent, loss.underflow_percent);
    // NaN, of an operand whose quantization gave NaN or infinities of both signs, is the worst.
    if (!(loss.mse <= decision.worst.mse)) decision.worst.mse = loss.mse;
    if (std::isnan(decision.worst.mse)) break;
  }
  decision.high_precision = decision.worst.underflow_percent > options_.underflow_percent ||
                            !(decision.worst.mse <= options_.mse);
  decisions_.push_back(decision);
  return decision.high_precision;
}

}  // namespace binade
