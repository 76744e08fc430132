// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a training, step by step, as files that `binade report` reads along its time axis: one
// stepNNNNNN.safetensors a step, with stepNNNNNN/LAYER/ROLE of binary32 for each watched activation and
// its gradient (act, dAct), each parameter, its gradient and its update (weight, dW, update). Gradients are
// unscaled: the same training with another loss scale gives the same gradients as far as its format holds
// them. Each file's metadata say its "step", the "loss_scale" that the loss was multiplied by (with
// loss_shift), and that "gradients" are "unscaled".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/tensor_role.h"
#include "lib/train/trainer.h"

namespace binade {

/// A gradient without the loss scale it carries, as PyTorch's unscale_ takes it out; as it is where no
/// binary32 number does (a scale of 0, infinity, NaN).
std::vector<float> unscaled(std::vector<float> gradient, double scale);

struct DumpedTensor {
  std::string layer;
  TensorRole role;
  Shape shape;
  std::vector<float> values;
};

/// The file of one step, with the step and the scale that its gradients carried as metadata; the folder
/// is there. Error where it cannot be written.
void write_step(const std::string& folder, std::int64_t step, double scale,
                std::span<const DumpedTensor> tensors);

/// Calls visit(layer, role, shape, values) for what a step's hooks can see: after backward the
/// activations, the weights and all gradients, unscaled; after the step the updates.
using TensorVisitor = std::function<void(const std::string& layer, TensorRole role,
                                         const Shape& shape, const std::vector<float>& values)>;
void visit_after_backward(const StepView<float>& view, const TensorVisitor& visit);
void visit_after_step(const StepView<float>& view, const TensorVisitor& visit);

/// Error where the folder, or any in it, holds step*.safetensors: a run would mix with an earlier one.
void refuse_dumps_below(const std::string& folder);

/// Hooks that write every `every`-th step, the first and the last of `steps` into the folder, which is
/// made, and removed with the hooks if no step was written. Steps that are skipped are written without
/// updates. Throws Error if the folder itself holds step*.safetensors, and if a file cannot be written.
Hooks<float> dump_hooks(const std::string& folder, std::int64_t every, std::int64_t steps);

}  // namespace binade
