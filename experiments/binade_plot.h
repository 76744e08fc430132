// SPDX-License-Identifier: Apache-2.0
//
// A plot of how values are distributed over the binades (powers of two), as a staircase;
// experiments draw it of gradients.
#pragma once

#include <string>
#include <vector>

#include "lib/range/summary.h"
#include "lib/runs/experiment.h"

namespace binade {

/// Returns an empty plot over |x| by binade, in percent of the non-zero values. Its curves leave
/// out the few values below 2^-45, which would take most of the axis.
Plot binade_plot(std::string title);

/// Adds the values of a summary to the plot, as one curve; adds nothing if no value has a binade.
void add_binades(Plot& plot, std::string name, const RangeSummary& summary);

}  // namespace binade
