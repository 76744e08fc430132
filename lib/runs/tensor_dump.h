// SPDX-License-Identifier: Apache-2.0
//
// Writes the tensors of a training, step by step, to files that `binade report` reads along its
// time axis. A step is one file, stepNNNNNN.safetensors; it has a binary32 tensor
// stepNNNNNN/LAYER/ROLE for each watched activation and its gradient (roles act, dAct), and for
// each parameter, its gradient and its update (roles weight, dW, update). Gradients are unscaled:
// the same training with another loss scale gives the same gradients as far as its format holds
// them. The metadata of a file are its "step", the "loss_scale" by which the loss was multiplied
// (the scale of the loss scaler times 2^-loss_shift), and whether "gradients" are "unscaled" (or
// "scaled", if the scale cannot be taken out).
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

/// Divides a gradient by its loss scale as PyTorch's unscale_ does. Returns it unchanged if the
/// reciprocal of the scale, rounded to binary32, is 0 or not finite.
std::vector<float> unscaled(std::vector<float> gradient, double scale);

struct DumpedTensor {
  std::string layer;
  TensorRole role;
  Shape shape;
  std::vector<float> values;
};

/// Writes the file of one step into an existing folder. `scale` is the scale that the gradients had
/// before they were unscaled. Throws Error if the file cannot be written.
void write_step(const std::string& folder, std::int64_t step, double scale,
                std::span<const DumpedTensor> tensors);

/// Call visit(layer, role, shape, values) for the tensors of a step: after the backward pass for
/// the activations, the weights and all gradients, unscaled; after the optimizer's step for the
/// updates.
using TensorVisitor = std::function<void(const std::string& layer, TensorRole role,
                                         const Shape& shape, const std::vector<float>& values)>;
void visit_after_backward(const StepView<float>& view, const TensorVisitor& visit);
void visit_after_step(const StepView<float>& view, const TensorVisitor& visit);

/// Throws Error if the folder, or any folder below it, has a file step*.safetensors, because the
/// tensors of two trainings would mix.
void refuse_dumps_below(const std::string& folder);

/// Makes the folder and returns hooks that write every `every`-th step, the first and the last of
/// `steps` into it. The folder is removed with the hooks if no step was written. Steps that the
/// loss scaler skips are written without updates. Throws Error if the folder itself has a file
/// step*.safetensors; the hooks throw Error if a file cannot be written.
Hooks<float> dump_hooks(const std::string& folder, std::int64_t every, std::int64_t steps);

}  // namespace binade
