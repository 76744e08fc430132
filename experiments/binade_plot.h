// SPDX-License-Identifier: Apache-2.0
//
// The picture of where values lie: a staircase over the binades, which experiments draw of gradients.
#pragma once

#include <string>
#include <vector>

#include "lib/range/summary.h"
#include "lib/study/experiment.h"

namespace binade {

/// Over |x| by binade, in percent of the non-zero values; the few below 2^-45 are left out, they would
/// take most of the axis.
Plot binade_plot(std::string title);

/// Adds a curve for the plot; nothing where all values are zero.
void add_binades(Plot& plot, std::string name, const RangeSummary& summary);

}  // namespace binade
