// SPDX-License-Identifier: Apache-2.0
//
// A file is searched for every layout's names.
#include "lib/block/quantized_parts.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_set>

#include "lib/range/element_index.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

std::optional<std::size_t> place_of_name(const TensorPlaces& places, const std::string& name) {
  const auto found = places.find(name);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

TensorPlaces tensor_places(const TensorFile& file) {
  TensorPlaces out;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) out.emplace(file.tensors()[i].name, i);
  return out;
}

std::optional<QuantizedParts> parts_of_tensor(const TensorPlaces& places, std::string_view name) {
  std::optional<QuantizedParts> out;
  for (const CheckpointLayout& layout : checkpoint_layouts) {
    const auto codes = place_of_name(places, part_name(layout.elements, name));
    const auto scales = place_of_name(places, part_name(layout.scales, name));
    if (!codes || !scales) continue;
    std::optional<std::size_t> tensor;
    if (!layout.tensor.empty()) tensor = place_of_name(places, part_name(layout.tensor, name));
    if (!out) out = QuantizedParts{*codes, *scales, tensor};
    if (out->codes == *codes && out->scales == *scales && out->tensor == tensor) {
      out->layouts.push_back(&layout);
    }
  }
  return out;
}

std::vector<std::string> quantized_names(const TensorFile& file, const TensorPlaces& places) {
  std::vector<std::string> out;
  std::unordered_set<std::string> seen;
  for (const TensorInfo& info : file.tensors()) {
    for (const CheckpointLayout& layout : checkpoint_layouts) {
      const auto name = name_of_part(layout.scales, info.name);
      if (!name || !place_of_name(places, part_name(layout.elements, *name))) continue;
      if (seen.insert(*name).second) out.push_back(*name);
    }
  }
  return out;
}

StoredArray stored_array(const TensorFile& file, std::size_t index) {
  const TensorInfo& info = file.tensors()[index];
  StoredArray out{.dtype = info.dtype, .shape = info.shape};
  out.bytes.reserve(info.bytes);
  file.read(index, [&](std::span<const std::byte> chunk) {
    out.bytes.insert(out.bytes.end(), chunk.begin(), chunk.end());
  });
  if (!info.fortran_order || info.shape.size() < 2) return out;
  const ElementIndex index_of = fortran_index(info.shape);
  if (!index_of) return out;
  const std::size_t size = info.dtype.bits / 8;
  std::vector<std::byte> turned(out.bytes.size());
  for (std::size_t i = 0; i < info.elements; ++i) {
    std::memcpy(&turned[index_of(i) * size], &out.bytes[i * size], size);
  }
  out.bytes = std::move(turned);
  return out;
}

std::uint32_t stored_number(const TensorFile& file, std::size_t index) {
  const TensorInfo& info = file.tensors()[index];
  if (info.elements != 1 || info.dtype.name != "F32") {
    throw error_in(file.path(),
                   fmt::format("{}: {} {}, where the scale of a tensor is one number in F32",
                               info.name.empty() ? "the array" : printable(info.name, 60),
                               info.dtype.name, shape_text(info.shape)),
                   "give a scale of one tensor");
  }
  const StoredArray stored = stored_array(file, index);
  std::uint32_t bits = 0;
  std::memcpy(&bits, stored.bytes.data(), sizeof bits);
  return bits;
}

}  // namespace binade
