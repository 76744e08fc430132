// SPDX-License-Identifier: Apache-2.0
//
// The presets of mixed precision as rows of one table: Apex's O0 to O3 (apex/amp/frontend.py),
// `native`, which is PyTorch's own autocast and GradScaler, and `half`, which is model.half().
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "emulate/format.h"
#include "lib/amp/op_lists.h"

namespace binade {

struct OptLevel {
  std::string_view name, what;
  std::optional<Format> cast_model_type;  ///< of weights and inputs; none: they are not cast
  bool casts_outputs = false;             ///< the outputs of a cast model become binary32
  bool patch_functions = false;           ///< ops cast their inputs as lists say
  std::optional<bool>
      keep_batchnorm_fp32;               ///< none: makes no difference at this level (None in Apex)
  std::optional<bool> master_weights;    ///< none: the weights are binary32 themselves
  std::optional<float> loss_scale;       ///< none: dynamic
  CastLists lists = CastLists::pytorch;  ///< the lists, if patch_functions
  std::string_view scaler;               ///< the level's row of loss_scale_policies()
};

/// Returns the table: O0, O1, O2, O3, native, half.
std::span<const OptLevel> opt_levels();
/// Returns the row of that name. Throws Error for any other name.
const OptLevel& opt_level(std::string_view name);

}  // namespace binade
