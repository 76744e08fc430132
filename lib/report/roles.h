// SPDX-License-Identifier: Apache-2.0
//
// What the roles of a report's tensors decide: which of them the loss scale is for, and what is told of the rest.
#pragma once

#include <span>

#include "lib/report/named_tensors.h"
#include "lib/report/report.h"

namespace binade {

/// Fills gradients and passed_over, takes the loss scale from gradients where names tell any, and fills the roles and
/// the scale's basis. `named`: the report's tensors, in its order.
void take_roles(Report& report, std::span<const NamedTensor> named);

}  // namespace binade
