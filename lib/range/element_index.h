// SPDX-License-Identifier: Apache-2.0
//
// The index of an element, from which stochastic rounding draws: its place in C order, in which the
// last index runs fastest, whatever the order of storage is. The elements of a 2 × 3 array, as they
// are stored:
//
//     place in storage    0  1  2  3  4  5
//     C order             0  1  2  3  4  5
//     Fortran order       0  3  1  4  2  5
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace binade {

/// An element's index by its place in storage. An empty function stands for an array in C order.
using ElementIndex = std::function<std::uint64_t(std::uint64_t place)>;

/// Returns the indices of an array in Fortran order; an empty function if its two orders are the
/// same, since at most one side of the shape is longer than 1.
ElementIndex fortran_index(std::span<const std::uint64_t> shape);

}  // namespace binade
