// SPDX-License-Identifier: Apache-2.0
//
// The table of the presets of mixed precision.
#include "lib/amp/opt_level.h"

#include <array>
#include <string>

#include "lib/text/error.h"

namespace binade {

std::span<const OptLevel> opt_levels() {
  static const std::array<OptLevel, 6> all{{
      {.name = "O0",
       .what = "everything in binary32",
       .cast_model_type = binary32,
       .casts_outputs = true,
       .keep_batchnorm_fp32 = std::nullopt,
       .master_weights = false,
       .loss_scale = 1.0F,
       .scaler = "static"},
      {.name = "O1",
       .what = "Apex's lists cast ops, weights in binary32",
       .cast_model_type = std::nullopt,
       .patch_functions = true,
       .keep_batchnorm_fp32 = std::nullopt,
       .master_weights = std::nullopt,
       .loss_scale = std::nullopt,
       .lists = CastLists::apex,
       .scaler = "apex"},
      {.name = "O2",
       .what = "model in the format, its output, batch norms and master weights in binary32",
       .cast_model_type = binary16,
       .casts_outputs = true,
       .keep_batchnorm_fp32 = true,
       .master_weights = true,
       .loss_scale = std::nullopt,
       .scaler = "apex"},
      {.name = "O3",
       .what = "model in the format, its output in binary32, no master weights",
       .cast_model_type = binary16,
       .casts_outputs = true,
       .keep_batchnorm_fp32 = false,
       .master_weights = false,
       .loss_scale = 1.0F,
       .scaler = "static"},
      {.name = "native",
       .what = "PyTorch's autocast casts ops, weights in binary32",
       .cast_model_type = std::nullopt,
       .patch_functions = true,
       .keep_batchnorm_fp32 = std::nullopt,
       .master_weights = std::nullopt,
       .loss_scale = std::nullopt,
       .scaler = "torch"},
      {.name = "half",
       .what = "everything in the format, the loss too (model.half())",
       .cast_model_type = binary16,
       .keep_batchnorm_fp32 = false,
       .master_weights = false,
       .loss_scale = 1.0F,
       .scaler = "static"},
  }};
  return all;
}

const OptLevel& opt_level(std::string_view name) {
  for (const OptLevel& level : opt_levels()) {
    if (level.name == name) return level;
  }
  throw Error("opt level " + printable(name) +
              ": there is none; choose of O0, O1, O2, O3 (the letter O, not a zero), native, half");
}

}  // namespace binade
