// SPDX-License-Identifier: Apache-2.0
//
// EventCounts in a device's memory, to which many threads add. The fields are of type Count,
// because CUDA's 64-bit atomics take only unsigned long long.
#pragma once

#include "cuda/count.h"
#include "emulate/event_count.h"

namespace binade {

/// The counts of EventCounts but for `values`, which the caller knows. The fields have no
/// initializers, so that an object may lie in shared memory.
struct EventWords {
  Count nan_in, inf_in, invalid, to_zero, subnormal, overflow, saturated, inexact;
};

/// Returns the counts as EventCounts of `values` values.
constexpr EventCounts counts_of(const EventWords& x, std::uint64_t values) {
  return {values,      x.nan_in,   x.inf_in,    x.invalid, x.to_zero,
          x.subnormal, x.overflow, x.saturated, x.inexact};
}

/// Adds `from`, which is EventWords or EventCounts, to `to`; many threads may do so at once.
template <class From>
__device__ void add_events(EventWords& to, const From& from) {
  const auto add = [](Count& sum, Count n) {
    if (n != 0) atomicAdd(&sum, n);
  };
  add(to.nan_in, from.nan_in);
  add(to.inf_in, from.inf_in);
  add(to.invalid, from.invalid);
  add(to.to_zero, from.to_zero);
  add(to.subnormal, from.subnormal);
  add(to.overflow, from.overflow);
  add(to.saturated, from.saturated);
  add(to.inexact, from.inexact);
}

}  // namespace binade
