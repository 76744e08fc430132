// SPDX-License-Identifier: Apache-2.0
//
// Views of arrays in the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/format/dtype.h"

namespace binade {

/// An array of elements in C order, little-endian. The view does not own them: its maker keeps them
/// alive.
struct ArrayView {
  Dtype dtype = {};
  std::vector<std::uint64_t> shape = {};
  const std::byte* data = nullptr;

  /// Returns the number of elements and bytes. Throws Error if the bytes exceed 2^63 - 1.
  Extent size() const;
};

struct NamedArray {
  std::string name;
  ArrayView array;
};

/// Returns a vector of floats or doubles as a named array.
NamedArray named_array(std::string name, std::span<const float> values);
NamedArray named_array(std::string name, std::span<const double> values);

}  // namespace binade
