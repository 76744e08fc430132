// SPDX-License-Identifier: Apache-2.0
//
// The loss scale that a run used, if its files state it: as "loss_scale" in the metadata of a
// .safetensors file, as `binade train --dump` writes it, or in a window of a counted run
// (run_counts.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/report/named_tensors.h"
#include "lib/report/time.h"

namespace binade {

inline const std::string used_scale_key = "loss_scale";

/// Returns the scale that the file of a tensor with a step states for that step, if it is a finite
/// positive number.
std::optional<double> used_scale(const NamedTensor& tensor);

/// Fills StepScale::used from the files that hold the step's gradients. If several state a scale,
/// the first one counts; a text that is not a finite positive number states none.
void take_used_scales(std::vector<StepScale>& scales, std::span<const NamedTensor> tensors);

}  // namespace binade
