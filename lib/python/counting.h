// SPDX-License-Identifier: Apache-2.0
//
// Counts arrays into range summaries, by counters that are kept from call to call.
#pragma once

#include <functional>
#include <vector>

#include "lib/range/counter.h"

namespace binade::python {

/// The summary of what `count` adds to a counter whose squared rounding errors are those of
/// `columns`.
RangeSummary counted(const std::vector<ErrorColumn>& columns,
                     const std::function<void(RangeCounter& counter)>& count);

/// Drops the counters that are kept. A forked child must call it, since another thread of its
/// parent may have been using them.
void forget_counters();

}  // namespace binade::python
