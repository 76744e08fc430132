// SPDX-License-Identifier: Apache-2.0
//
// Shapes of arrays as NumPy writes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace binade {

/// Returns a shape as "(5000, 16)", "(5,)" or "()".
std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace binade
