// SPDX-License-Identifier: Apache-2.0
//
// Quantized tensors whose scales are tensors beside them: the codes of an FP8 checkpoint and
// weight_scale_inv, the blocks of MX and NVFP4 with one or two scales, qweight with scales and
// qzeros of GPTQ and AWQ, q_weight and q_scale of EXL2, weight._data and weight._scale of
// optimum-quanto, MLX's packed weight with scales and biases, bitsandbytes' weights and optimizers.
// Read by themselves the codes are no values, and the scales are no weights. Nothing here decodes
// them; who reads a file of tensors asks which these are, by their names and dtypes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/io/tensor_file.h"

namespace binade {

/// Returns for each tensor why it is no tensor of values: "codes without their scale,
/// fc1.weight_scale_inv", or "a scale or offset of the codes fc1.weight"; empty for all others. The
/// tensors may be of several files, such as the shards of a model. Codes have 8 bits or fewer, or
/// are packed into integers, and have a partner of the same layer that is named as a scale or is of
/// E8M0; without one, codes are values at scale 1.
std::vector<std::string> code_reasons(std::span<const TensorInfo* const> tensors);
std::vector<std::string> code_reasons(const std::vector<TensorInfo>& tensors);

/// Returns whether a reason is that of codes, not of a scale or of something else.
bool is_code_reason(const std::string& reason);

}  // namespace binade
