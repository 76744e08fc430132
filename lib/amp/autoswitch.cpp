// SPDX-License-Identifier: Apache-2.0
//
// Measures two losses of each operand, underflow and mean squared error, and compares the worst of
// each over a product's operands with its threshold.
#include "lib/amp/autoswitch.h"

#include <algorithm>
#include <cmath>

#include "lib/text/error.h"

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

namespace {

/// Returns the larger value of each member. A NaN error, of an operand whose quantization gave NaN
/// or infinities of both signs, counts as the largest.
OperandLoss worse_of(const OperandLoss& a, const OperandLoss& b) {
  const bool b_errs_more = !std::isnan(a.mse) && !(b.mse <= a.mse);
  return {std::max(a.underflow_percent, b.underflow_percent), b_errs_more ? b.mse : a.mse};
}

}  // namespace

bool Autoswitch::decide(std::string_view layer, std::string_view gemm,
                        std::span<const OperandLoss> operands) {
  OperandLoss worst;
  for (const OperandLoss& loss : operands) worst = worse_of(worst, loss);
  const bool switches =
      worst.underflow_percent > options_.underflow_percent || !(worst.mse <= options_.mse);
  auto found = std::ranges::find_if(tallies_, [&](const SwitchTally& tally) {
    return tally.layer == layer && tally.gemm == gemm;
  });
  if (found == tallies_.end()) {
    tallies_.push_back({.layer = std::string(layer), .gemm = std::string(gemm), .worst = {}});
    found = tallies_.end() - 1;
  }
  found->products += 1;
  found->switched += switches ? 1 : 0;
  found->worst = worse_of(found->worst, worst);
  return switches;
}

}  // namespace binade
