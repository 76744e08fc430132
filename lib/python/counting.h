// SPDX-License-Identifier: Apache-2.0
//
// The one way in which Python's arrays become range summaries.
#pragma once

#include <functional>
#include <vector>

#include "lib/range/counter.h"

namespace binade::python {

/// What `count` adds to a counter of these columns, as a summary.
RangeSummary counted(const std::vector<ErrorColumn>& columns,
                     const std::function<void(RangeCounter& counter)>& count);

/// In a forked child: another thread may have been at the counters that wait.
void forget_counters();

}  // namespace binade::python
