// SPDX-License-Identifier: Apache-2.0
//
// Makes views of vectors, and says how large a view is.
#include "lib/io/array_view.h"

#include <optional>
#include <string_view>
#include <utility>

#include "lib/text/error.h"

namespace binade {
namespace {

template <class T>
NamedArray vector_named(std::string name, std::span<const T> values, std::string_view dtype) {
  return {std::move(name),
          {.dtype = *find_dtype(dtype),
           .shape = {values.size()},
           .data = std::as_bytes(values).data()}};
}

}  // namespace

Extent ArrayView::size() const {
  const std::optional<Extent> size = extent(shape, dtype);
  if (!size) throw Error("an array of more than 2^63 - 1 bytes");
  return *size;
}

NamedArray named_array(std::string name, std::span<const float> values) {
  return vector_named(std::move(name), values, "F32");
}
NamedArray named_array(std::string name, std::span<const double> values) {
  return vector_named(std::move(name), values, "F64");
}

}  // namespace binade
