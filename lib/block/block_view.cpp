// SPDX-License-Identifier: Apache-2.0
//
// The axes before K and its rows are matrices, those behind K are length.
#include "lib/block/block_view.h"

#include <fmt/format.h>

#include "lib/text/error.h"

namespace binade {
namespace {

std::size_t product_of(std::span<const std::uint64_t> extents) {
  std::size_t out = 1;
  for (const std::uint64_t extent : extents) out *= extent;
  return out;
}

/// The size of a block along an axis, of which 0 says that it is all of it.
std::size_t size_along(int size, std::size_t extent) {
  return size == 0 ? std::max<std::size_t>(extent, 1) : static_cast<std::size_t>(size);
}

std::uint64_t blocks_along(std::uint64_t extent, std::size_t size) {
  return (extent + size - 1) / size;
}

}  // namespace

std::vector<std::uint64_t> as_rows(std::span<const std::uint64_t> shape) {
  if (shape.size() < 2) return {shape.begin(), shape.end()};
  return {product_of(shape.first(shape.size() - 1)), shape.back()};
}

BlockView block_view(const BlockFormat& format, std::span<const std::uint64_t> shape, int axis) {
  const std::vector<std::uint64_t> one{1};
  if (shape.empty()) shape = one;
  const int axes = static_cast<int>(shape.size());
  if (axis < -axes || axis >= axes) {
    throw Error(fmt::format("axis {}: a tensor of {} {} has {} to {}", axis, axes,
                            axes == 1 ? "axis" : "axes", -axes, axes - 1));
  }
  const auto k = static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
  const std::size_t last = shape.size() - 1;
  BlockView out;
  if (format.shape == BlockShape{0, 0}) {
    out.length = out.length_of_block = product_of(shape);
    out.length_of_block = std::max<std::size_t>(out.length, 1);
    return out;
  }
  out.scale_shape.assign(shape.begin(), shape.end());
  const bool is_wide = format.shape.rows != 1;
  if (is_wide && k + 1 < last) {
    throw Error(fmt::format(
        "axis {}: blocks of several rows lie in the last two axes, {} and {}; permute the tensor",
        axis, static_cast<int>(last) - 1, static_cast<int>(last)));
  }
  if (k == last) {
    out.matrices = last == 0 ? 1 : product_of(shape.first(last - 1));
    out.lines = last == 0 ? 1 : shape[last - 1];
    out.length = shape[last];
    out.lines_of_block = size_along(format.shape.rows, out.lines);
    out.length_of_block = size_along(format.shape.along, out.length);
    if (last > 0) out.scale_shape[last - 1] = blocks_along(out.lines, out.lines_of_block);
    out.scale_shape[last] = blocks_along(out.length, out.length_of_block);
    return out;
  }
  out.matrices = product_of(shape.first(k));
  out.lines = shape[k];
  out.length = product_of(shape.subspan(k + 1));
  out.lines_of_block = size_along(format.shape.along, out.lines);
  out.length_of_block = is_wide ? size_along(format.shape.rows, out.length) : 1;
  out.scale_shape[k] = blocks_along(out.lines, out.lines_of_block);
  if (is_wide) out.scale_shape[last] = blocks_along(out.length, out.length_of_block);
  return out;
}

std::size_t tensors_in_stack(std::span<const std::uint64_t> shape) {
  return shape.size() < 3 ? 1 : shape[0];
}

BlockView block_view_of_each(const BlockFormat& format, std::span<const std::uint64_t> shape,
                             int axis) {
  const int axes = static_cast<int>(shape.size());
  if (axis == 0 || axis == -axes) {
    throw Error(fmt::format("axis {}: along which the tensors of a stack lie", axis));
  }
  return block_view(format, shape.subspan(1), axis < 0 ? axis : axis - 1);
}

}  // namespace binade
