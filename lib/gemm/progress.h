// SPDX-License-Identifier: Apache-2.0
//
// How a long product says how far it is.
#pragma once

#include <cstddef>
#include <functional>

namespace binade {

/// A function that is called now and then with the number of elements of D that are done, divided
/// by n and rounded down: from 0 to m. Calls never overlap.
using GemmProgress = std::function<void(std::size_t rows)>;

}  // namespace binade
