// SPDX-License-Identifier: Apache-2.0
//
// The casts of Apex's level O1, which patches the functions of PyTorch that its lists name, so that
// each casts its inputs before it runs. Unlike autocast (autocast.h), it has no scopes, its
// low-precision format is always binary16, and it casts binary64 like other formats.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "emulate/format.h"
#include "lib/amp/op_lists.h"

namespace binade {

/// Returns the format to which all floating-point inputs of the function are cast. Returns none if
/// they stay as they are: there are none, the function is unlisted, it is banned and no input is
/// binary16, it promotes and its inputs have one format, or it is cat or stack and an input of
/// mixed formats is neither binary16 nor binary32. In-place calls have rules of their own
/// (apex/amp/wrap.py), which this function does not know. Throws Error for a banned function with
/// an input of binary16, and for a function that promotes, other than cat and stack, with inputs of
/// mixed formats of which one is neither binary16 nor binary32.
std::optional<Format> apex_dtype(std::string_view op, std::span<const Format> inputs);

}  // namespace binade
