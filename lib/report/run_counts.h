// SPDX-License-Identifier: Apache-2.0
//
// A counted run, which binade.torch.watch makes: the summaries of a training's tensors, counted
// while it ran, by step, layer and role, without any elements. The run itself states the step,
// layer and role of each summary; for tensors in other files their names (or --role) do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/range/summary.h"
#include "lib/range/update_counts.h"
#include "lib/report/tensor_role.h"
#include "lib/report/watched.h"

namespace binade {

/// All tensors of one window (watched.h), layer and role, counted together into one summary.
struct RunTensor {
  TensorTime time;  ///< its step is the first of the window
  Dtype dtype;
  std::optional<std::vector<std::uint64_t>> shape;  ///< of each tensor; nothing if they differ
  std::uint64_t values = 0;                         ///< of all tensors together
  /// False for gradients that stay in FP32, or that are rounding alone: no loss scale has to keep
  /// them.
  bool binds_scale = true;
};

/// The updates of a layer's weights in one window, compared with the weights.
struct RunUpdates {
  std::uint64_t step = 0;
  std::string layer;
  UpdateCounts counts;
};

/// A counted run without its summaries. There is one summary for each of `tensors`, in their order.
struct RunCounts {
  Watched watched;
  std::vector<ErrorColumn> columns;  ///< those of every summary
  std::vector<RunTensor> tensors;    ///< by rising step
  std::vector<RunUpdates> updates;   ///< by rising step
};

/// Returns a name such as "step000050/fc1/dW".
std::string run_tensor_name(const RunTensor& tensor);

/// Throws Error if the run is inconsistent: steps that do not rise, a tensor that is in no window,
/// a tensor that is there twice, 2^64 values or more …
void check_run(const RunCounts& run);

}  // namespace binade
