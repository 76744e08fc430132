// SPDX-License-Identifier: Apache-2.0
//
// A run whose tensors were counted while it ran: their summaries, by step, layer and role, and no element of them. What a
// name tells of other tensors, the run itself tells of these.
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

/// All tensors of a window, layer and role, counted together.
struct RunTensor {
  TensorTime time;  ///< of the window's first step
  Dtype dtype;
  std::optional<std::vector<std::uint64_t>> shape;  ///< of each; nothing: they differ
  std::uint64_t values = 0;                         ///< of all
};

/// The updates of a layer's weights in a window, held against the weights.
struct RunUpdates {
  std::uint64_t step = 0;
  std::string layer;
  UpdateCounts counts;
};

/// All but the summaries, which are `tensors`' in their order.
struct CountedRun {
  Watched watched;
  std::vector<ErrorColumn> columns;  ///< of every summary
  std::vector<RunTensor> tensors;    ///< by rising step
  std::vector<RunUpdates> updates;   ///< likewise
};

/// "step000050/fc1/dW"
std::string run_tensor_name(const RunTensor& tensor);

/// Error where a run cannot be so: steps that do not rise, tensors of no window, a tensor twice, 2^64 values or more …
void check_run(const CountedRun& run);

}  // namespace binade
