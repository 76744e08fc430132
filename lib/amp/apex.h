// SPDX-License-Identifier: Apache-2.0
//
// Apex's O1: functions of PyTorch patched by lists, each casting its inputs before it runs. No scope and no
// other low format than binary16; binary64 is cast like the rest.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "emulate/format.h"
#include "lib/amp/op_lists.h"

namespace binade {

/// The format to which all of the function's floating inputs are cast; none where they stay as they are: unlisted,
/// inputs of one format for a function that promotes, and cat and stack of others than binary16 and binary32.
/// A call in place has other rules (apex/amp/wrap.py): do not ask for it.
/// Throws Error for a banned function of binary16, and where a function that promotes meets two formats that are not
/// binary16 and binary32.
std::optional<Format> apex_dtype(std::string_view op, std::span<const Format> inputs);

}  // namespace binade
