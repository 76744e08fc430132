// SPDX-License-Identifier: Apache-2.0
//
// A file is searched for every layout's names.
#include "lib/block/quantized_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <unordered_set>

#include "emulate/project.h"
#include "lib/range/element_index.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

std::optional<std::size_t> place_of_name(const TensorPlaces& places, const std::string& name) {
  const auto found = places.find(name);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

/// By what a part is known: ".weight_scale" of "fc.weight_scale", "_scale" of "w_scale".
std::string_view end_of_part(std::string_view part, std::string_view tensor) {
  const std::size_t dot = part.rfind('.');
  if (dot != std::string_view::npos) return part.substr(dot);
  return part.starts_with(tensor) ? part.substr(tensor.size()) : part;
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

std::vector<LonePart> lone_parts(const TensorFile& file, const TensorPlaces& places,
                                 const std::vector<std::string>& names) {
  using PartKind = std::tuple<std::string_view, std::string_view, std::string_view>;
  const std::vector<TensorInfo>& tensors = file.tensors();
  std::set<PartKind> kinds;
  std::vector<bool> is_part(tensors.size());
  const auto take = [&](std::size_t i, const std::string& name, std::string_view what) {
    is_part[i] = true;
    kinds.insert({end_of_part(tensors[i].name, name), tensors[i].dtype.name, what});
  };
  for (const std::string& name : names) {
    const QuantizedParts parts = *parts_of_tensor(places, name);
    take(parts.codes, name, "codes without scales");
    take(parts.scales, name, "scales without codes");
    if (parts.tensor) take(*parts.tensor, name, "the scale of a tensor without codes");
  }
  std::vector<LonePart> out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto is_of = [&](const PartKind& kind) {
      const auto& [end, dtype, what] = kind;
      const bool is_ended =
          tensors[i].name.ends_with(end) &&
          (end.starts_with('.') || tensors[i].name.find('.') == std::string::npos);
      return is_ended && tensors[i].dtype.name == dtype;
    };
    const auto kind = is_part[i] ? kinds.end() : std::ranges::find_if(kinds, is_of);
    if (kind != kinds.end()) out.push_back({i, std::get<2>(*kind)});
  }
  std::ranges::stable_sort(out, {}, &LonePart::what);
  return out;
}

std::string lone_part_text(const TensorFile& file, const LonePart& part) {
  const TensorInfo& info = file.tensors()[part.index];
  return fmt::format("{}: {} {}, {}", printable(info.name, 60), info.dtype.name,
                     shape_text(info.shape), part.what);
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

std::vector<std::uint32_t> stored_numbers(const TensorFile& file, std::size_t index,
                                          std::size_t most) {
  const TensorInfo& info = file.tensors()[index];
  // Narrower numbers are numbers of binary32, too.
  const bool is_narrow = info.dtype.kind == DtypeKind::floating && info.dtype.bits == 16;
  if ((info.elements != 1 && info.elements != most) || (info.dtype.name != "F32" && !is_narrow)) {
    throw error_in(file.path(),
                   fmt::format("{}: {} {}, where the scale of a tensor is one number in F32",
                               info.name.empty() ? "the array" : printable(info.name, 60),
                               info.dtype.name, shape_text(info.shape)),
                   most > 1 ? fmt::format("give a scale of one tensor, or of each of {}", most)
                            : "give a scale of one tensor");
  }
  const StoredArray stored = stored_array(file, index);
  std::vector<std::uint32_t> out(info.elements);
  if (is_narrow) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &stored.bytes[2 * i], sizeof bits);
      out[i] =
          static_cast<std::uint32_t>(convert(bits, *find_format(info.dtype.format), binary32).bits);
    }
    return out;
  }
  std::memcpy(out.data(), stored.bytes.data(), stored.bytes.size());
  return out;
}

std::uint32_t stored_number(const TensorFile& file, std::size_t index) {
  return stored_numbers(file, index, 1)[0];
}

}  // namespace binade
