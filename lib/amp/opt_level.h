// SPDX-License-Identifier: Apache-2.0
//
// The presets of mixed precision: Apex's O0 to O3 (apex/amp/frontend.py) and `native`, what PyTorch's own
// autocast and GradScaler amount to, as rows of one table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "emulate/format.h"
#include "lib/amp/op_lists.h"

namespace binade {

struct OptLevel {
  std::string_view name, what;
  std::optional<Format> cast_model_type;  ///< of weights and inputs; none: left as they are
  bool casts_outputs = false;             ///< of a model that was cast: its outputs become binary32
  bool patch_functions = false;           ///< ops are cast by lists
  std::optional<bool>
      keep_batchnorm_fp32;               ///< none where the question does not arise (Apex's None)
  std::optional<bool> master_weights;    ///< none as above: the weights are binary32 themselves
  std::optional<float> loss_scale;       ///< none: dynamic
  CastLists lists = CastLists::pytorch;  ///< whose, where they are
  std::string_view scaler;               ///< the row of loss_scale_policies() that goes with it
};

/// O0, O1, O2, O3, native, half.
std::span<const OptLevel> opt_levels();
/// Throws Error for a name that is none of them.
const OptLevel& opt_level(std::string_view name);

}  // namespace binade
