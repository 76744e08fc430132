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
  std::optional<Format>
      cast_model_type;           ///< of weights, buffers and inputs; none: left as they are
  bool patch_functions = false;  ///< ops are cast by lists
  std::optional<bool>
      keep_batchnorm_fp32;               ///< none where the question does not arise (Apex's None)
  std::optional<bool> master_weights;    ///< none as above: the weights are binary32 themselves
  std::optional<float> loss_scale;       ///< none: dynamic
  CastLists lists = CastLists::pytorch;  ///< whose, where they are
  std::string_view scaler;               ///< the row of loss_scale_policies() that goes with it
  std::optional<float> min_loss_scale = {};  ///< of dynamic scales; none: no floor
  std::optional<float> max_loss_scale = {};  ///< of dynamic scales; none: no cap
};

/// O0, O1, O2, O3, native.
std::span<const OptLevel> opt_levels();
/// Throws Error for a name that is none of them.
const OptLevel& opt_level(std::string_view name);

}  // namespace binade
