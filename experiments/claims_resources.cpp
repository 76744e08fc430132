// SPDX-License-Identifier: Apache-2.0
//
// Claims about memory and speed. Bytes are counted; speeds depend on a device and are not measured
// here.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/claims.h"
#include "lib/train/memory.h"
#include "lib/train/model.h"

namespace binade {
namespace {

BytesPerParameter bytes_of(std::string_view mode, std::string_view optimizer) {
  return bytes_per_parameter(
      *std::ranges::find(training_modes, mode, &TrainingMode::name),
      *std::ranges::find(optimizer_moments(), optimizer, &OptimizerMoments::name));
}

/// Returns how many elements a tape of the digits MLP keeps for one sample: its input and each
/// layer's output.
std::uint64_t activations_of(const Model<float>& model) {
  Tape<float> tape;
  Batch<float> batch{.inputs = Tensor<float>({1, 64}), .tokens = {}, .rows = 1, .targets = {}};
  static_cast<void>(model.forward(tape, batch, true));
  std::uint64_t sum = batch.inputs.size();
  for (const auto& [name, x] : tape.watched()) sum += tape.values(x).size();
  return sum;
}

/// Returns the bytes of a training under autocast divided by those in FP32, both with Adam.
double ratio_at(const TrainingSize& size) {
  const auto total = [&size](std::string_view mode) {
    const TrainingMode& row = *std::ranges::find(training_modes, mode, &TrainingMode::name);
    const auto use = memory_use(row, bytes_of(mode, "adam"), size);
    return use ? static_cast<double>(use->total()) : 0;
  };
  return total("amp") / total("fp32");
}

Measured memory_halves(const ClaimInput&) {
  const Model<float> model = make_mlp<float>({}, 0);
  const std::uint64_t parameters = model.parameter_count(), activations = activations_of(model);
  const auto at = [&](std::uint64_t batch) { return ratio_at({parameters, activations, batch}); };
  const BytesPerParameter o2 = bytes_of("o2", "sgd"), fp32 = bytes_of("fp32", "sgd");
  const int weights_fp32 = fp32.weights + fp32.master, weights_o2 = o2.weights + o2.master;
  const int adam_fp32 = bytes_of("fp32", "adam").total(), adam_o2 = bytes_of("o2", "adam").total();
  const int adam_amp = bytes_of("amp", "adam").total();
  const double only_activations = ratio_at({0, activations, 1});
  return {
      .fails = at(1) > 1 && at(128) > 0.55,
      .holds = weights_fp32 == 4 && weights_o2 == 6 && adam_fp32 == 16 && adam_o2 == 16 &&
               adam_amp == 18 && only_activations == 0.5 && at(1 << 20) < 0.51 && at(1 << 20) > 0.5,
      .words = fmt::format("weights 4 to 6 B, with Adam 16 to 16-18 B; MLP x {:.2f} at batch 1, x "
                           "{:.2f} at 128",
                           at(1), at(128)),
      .figures = {{"weights_fp32", weights_fp32},
                  {"weights_and_master_o2", weights_o2},
                  {"adam_fp32", adam_fp32},
                  {"adam_o2", adam_o2},
                  {"adam_amp", adam_amp},
                  {"parameters", parameters},
                  {"activations_per_sample", activations},
                  {"ratio_batch_1", at(1)},
                  {"ratio_batch_128", at(128)},
                  {"ratio_batch_2_20", at(1 << 20)},
                  {"ratio_activations", only_activations}}};
}

constexpr std::array resources{
    Claim{
        "memory_halves", "Mixed precision halves GPU memory", "loose",
        "Activations halve. Weights with a master copy take half as much again (6 for 4 bytes), a "
        "parameter with Adam 16 to 18 bytes for 16.",
        &memory_halves},
    Claim{"speed_ratios", "FP16 is 10x FP64 and 4x FP32; training 1.5x to 3x (or to 5.5x) faster",
          "inconsistent", "The ratios depend on the device and the model: measure them.", nullptr,
          0, "not measured: speeds need a GPU"}};

}  // namespace

std::span<const Claim> claims_of_resources() { return resources; }

}  // namespace binade
