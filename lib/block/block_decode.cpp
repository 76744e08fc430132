// SPDX-License-Identifier: Apache-2.0
//
// A value is rounded once, from the exact product of its element and its scales.
#include "lib/block/block_decode.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "emulate/block_packing.h"
#include "lib/block/block_file.h"
#include "lib/block/block_tensor.h"
#include "lib/block/copied_tensors.h"
#include "lib/io/safetensors_writer.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// A tensor to decode: its parts, and how they are read.
struct DecodePlan {
  std::string name;
  QuantizedParts parts;
  BlockView view = {};
  std::vector<std::uint64_t> shape = {};
  const ScaleLayout* order = nullptr;
  std::size_t each = 1;                        ///< tensors of a stack, whose blocks `view` has
  const NamedScaleRule* scale_rule = nullptr;  ///< of the tensor's scale
};

std::string metadata_of(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

NamedOrCustomBlock format_of_file(const DecodeRule& rule, const TensorFile& file) {
  if (rule.format) return *rule.format;
  const std::string told = metadata_of(file, "binade.format");
  if (told.empty()) {
    throw error_in(file.path(), "says not in which block format its codes are",
                   "say which by --format");
  }
  return parse_block_format(told);
}

/// Returns the rule by which the scale of a tensor follows from its amax.
const NamedScaleRule& scale_rule_of_file(const DecodeRule& rule, const TensorFile& file,
                                         const NamedOrCustomBlock& format) {
  if (!rule.scale_rule.empty()) return parse_scale_rule(rule.scale_rule, format);
  const std::string told = metadata_of(file, "binade.scale_rule");
  const NamedScaleRule* found = told.empty() ? nullptr : find_scale_rule(told, format.format);
  return found != nullptr ? *found : *find_scale_rule("te", format.format);
}

int axis_of_file(const DecodeRule& rule, const TensorFile& file) {
  if (rule.axis) return *rule.axis;
  const std::string told = metadata_of(file, "binade.axis");
  int axis = -1;
  std::from_chars(told.data(), told.data() + told.size(), axis);
  return axis;
}

/// A shape without extents of 1.
std::vector<std::uint64_t> squeezed(std::vector<std::uint64_t> shape) {
  std::erase(shape, 1U);
  return shape;
}

/// Whether scales have the shape of others with its axes exchanged: they would be as many.
bool is_transpose(const std::vector<std::uint64_t>& scales,
                  const std::vector<std::uint64_t>& wanted) {
  std::vector<std::uint64_t> turned = squeezed(scales);
  std::ranges::reverse(turned);
  return turned.size() > 1 && turned == squeezed(wanted) && squeezed(scales) != turned;
}

/// Whether nobody says that scales are in another order than row by row.
bool may_be_row_major(const DecodeRule& rule, const TensorFile& file) {
  if (rule.scale_layout != nullptr) return rule.scale_layout->name == "row_major";
  const std::string told = metadata_of(file, "binade.scale_layout");
  return told.empty() || told == "row_major";
}

/// The shape of the scales of each tensor of a stack.
std::vector<std::uint64_t> scales_of_each(std::vector<std::uint64_t> shape, std::size_t each) {
  if (each > 1 && !shape.empty() && shape[0] == each) shape.erase(shape.begin());
  return shape;
}

/// Whether a plan's scales have the shape that an order gives them.
bool is_shape_of(const ScaleLayout& order, const TensorFile& file, const DecodePlan& plan) {
  const ScaleGrid grid = grid_of(plan.view.scale_shape), filled = order.filled(grid);
  const bool is_plain =
      !order.columns_first && filled.rows * filled.columns == grid.rows * grid.columns;
  const auto stored = scales_of_each(file.tensors()[plan.parts.scales].shape, plan.each);
  return squeezed(stored) == squeezed(is_plain ? plan.view.scale_shape : order.shape(grid));
}

/// The order of a plan's scales. Where neither the caller nor the file tells it, that of the names,
/// if the shape is that of scales in this order.
const ScaleLayout& order_of_file(const DecodeRule& rule, const TensorFile& file,
                                 const BlockFormat& format, const DecodePlan& plan) {
  if (rule.scale_layout != nullptr) return *rule.scale_layout;
  const ScaleLayout* told = find_scale_layout(metadata_of(file, "binade.scale_layout"));
  if (told != nullptr) return *told;
  const TensorInfo& scales = file.tensors()[plan.parts.scales];
  const ScaleGrid grid = grid_of(plan.view.scale_shape);
  std::vector<std::string_view> fitting;
  for (const ScaleLayout& layout : scale_layouts) {
    const ScaleGrid some = layout.filled(grid);
    if (!layout.is_of(format)) continue;
    if (some.rows * some.columns * plan.each == scales.elements) fitting.push_back(layout.name);
  }
  const ScaleLayout& named = scale_layout_of(*plan.parts.layouts[0], format);
  if (is_shape_of(named, file, plan) || fitting.empty()) return named;
  throw error_in(file.path(),
                 fmt::format("{}: scales {} of {} blocks, as {} would fill them, and the file says "
                             "not in which order",
                             printable(plan.name, 60), shape_text(scales.shape),
                             shape_text(plan.view.scale_shape), alternatives(fitting)),
                 "say it by --scale-layout");
}

/// The shape that the metadata tell of a tensor, or else that of its codes, of which those of 4
/// bits are two in a byte.
std::vector<std::uint64_t> shape_of_tensor(const TensorFile& file, const std::string& name,
                                           const BlockFormat& format,
                                           std::vector<std::uint64_t> codes) {
  const auto told = nlohmann::json::parse(metadata_of(file, "binade.shapes"), nullptr, false);
  const bool packed = format.element.bits() == 4;
  if (told.is_object() && told.contains(name) && told[name].is_array() &&
      std::ranges::all_of(told[name], [](const auto& x) { return x.is_number_unsigned(); })) {
    auto shape = told[name].get<std::vector<std::uint64_t>>();
    std::vector<std::uint64_t> stored = shape;
    if (packed && stored.empty()) stored = {1};
    if (packed) stored.back() = stored.back() / 2 + stored.back() % 2;
    if (stored == codes) return shape;
  }
  if (packed && !codes.empty()) codes.back() *= 2;
  return codes;
}

Error not_of(const TensorFile& file, const TensorInfo& info, const std::string& what,
             const NamedOrCustomBlock& format) {
  return error_in(file.path(),
                  fmt::format("{}: {} {}, no {} of {}", printable(info.name, 60), info.dtype.name,
                              shape_text(info.shape), what, format.name),
                  "say by --format, --axis and --scale-layout what the file holds");
}

/// "scales (128, 16) of 8 bits, to which 128x4 fills (96, 16) up,".
std::string scales_wanted(const ScaleLayout& order, const std::vector<std::uint64_t>& shape,
                          std::size_t bytes) {
  const ScaleGrid grid = grid_of(shape), filled = order.filled(grid);
  if (filled.rows * filled.columns == grid.rows * grid.columns) {
    return fmt::format("scales {} of {} bits", shape_text(shape), 8 * bytes);
  }
  return fmt::format("scales ({}, {}) of {} bits, to which {} fills {} up,", filled.rows,
                     filled.columns, 8 * bytes, order.name, shape_text(shape));
}

DecodePlan plan_of(const DecodeRule& rule, const NamedOrCustomBlock& format, const TensorFile& file,
                   const std::string& name, const QuantizedParts& parts) {
  DecodePlan out{.name = name, .parts = parts};
  const TensorInfo &codes = file.tensors()[parts.codes], &scales = file.tensors()[parts.scales];
  const BlockFormat& f = format.format;
  if (codes.dtype.bits != 8 * code_bytes(f.element)) throw not_of(file, codes, "codes", format);
  std::vector<std::uint64_t> stored = codes.shape;
  if (parts.layouts[0]->block_axis && stored.size() > 1) {
    const std::uint64_t last = stored.back();
    stored.pop_back();
    stored.back() *= last;
  }
  out.shape = shape_of_tensor(file, name, f, stored);
  try {
    const std::size_t tensors = parts.tensor ? file.tensors()[*parts.tensor].elements : 1;
    const std::size_t most = tensors_in_stack(out.shape);
    if (metadata_of(file, "binade.stack") == "yes" || tensors == most) out.each = most;
    const bool rows = parts.layouts[0]->as_rows && f.shape.rows > 1;
    out.view = out.each > 1 ? block_view_of_each(f, out.shape, axis_of_file(rule, file))
               : rows       ? block_view(f, as_rows(out.shape), -1)
                            : block_view(f, out.shape, axis_of_file(rule, file));
  } catch (const Error& e) {
    throw error_in(file.path(), printable(name, 60) + ": " + e.what(), "choose another --axis");
  }
  if (is_transpose(scales_of_each(scales.shape, out.each), out.view.scale_shape) &&
      may_be_row_major(rule, file) &&
      (rule.scale_layout != nullptr ||
       !is_shape_of(scale_layout_of(*parts.layouts[0], f), file, out))) {
    throw not_of(file, scales,
                 "scales " + shape_text(out.view.scale_shape) + ", but their transpose,", format);
  }
  out.order = &order_of_file(rule, file, f, out);
  check_scale_layout(*out.order, format);
  const ScaleGrid filled = out.order->filled(grid_of(out.view.scale_shape));
  const std::size_t of_scale = code_bytes(f.scale);
  const bool is_word =
      scales.dtype.bits == 8 * of_scale || scales.dtype.bits == 8 * of_scale * out.order->word;
  if (!is_word || scales.bytes != out.each * of_scale * filled.rows * filled.columns) {
    throw not_of(file, scales, scales_wanted(*out.order, out.view.scale_shape, of_scale), format);
  }
  if (f.tensor_scale != parts.tensor.has_value()) {
    throw not_of(
        file, scales,
        f.tensor_scale ? "scales with one of the tensor" : "scales without one of the tensor",
        format);
  }
  const bool holds_amax = parts.tensor && parts.layouts[0]->part == TensorScalePart::amax;
  if (holds_amax) out.scale_rule = &scale_rule_of_file(rule, file, format);
  return out;
}

std::uint32_t decode_scale_of(const DecodePlan& plan, const BlockFormat& format,
                              std::uint32_t stored) {
  switch (plan.parts.layouts[0]->part) {
    case TensorScalePart::decode: return stored;
    case TensorScalePart::encode: return block_steps::over(block_steps::one, stored);
    case TensorScalePart::amax: return tensor_scale(plan.scale_rule->rule, format, stored).decode;
  }
  return stored;
}

std::vector<float> values_of_plan(const DecodePlan& plan, const BlockFormat& format,
                                  const TensorFile& file) {
  StoredArray codes = stored_array(file, plan.parts.codes);
  std::vector<std::byte> unpacked;
  if (format.element.bits() == 4) {
    const std::size_t line = plan.shape.empty() ? 1 : plan.shape.back();
    unpacked.resize(plan.each * plan.view.elements());
    for (std::size_t i = 0; line > 0 && i < unpacked.size() / line; ++i) {
      unpack_4(&codes.bytes[i * ((line + 1) / 2)], line, &unpacked[i * line]);
    }
  } else {
    unpacked = std::move(codes.bytes);
  }
  const StoredArray stored = stored_array(file, plan.parts.scales);
  const std::size_t bytes = code_bytes(format.scale);
  std::vector<std::uint32_t> scales(stored.bytes.size() / bytes);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    std::memcpy(&scales[i], &stored.bytes[i * bytes], bytes);
  }
  std::vector<std::uint32_t> tensors;
  if (plan.parts.tensor) tensors = stored_numbers(file, *plan.parts.tensor, plan.each);
  const std::size_t n = plan.view.elements(),
                    of_each = plan.each == 0 ? 0 : scales.size() / plan.each;
  std::vector<float> out(plan.each * n);
  for (std::size_t i = 0; i < plan.each; ++i) {
    BlockTensor x{.view = plan.view, .codes = {}, .scales = {}, .tensor = {}};
    const auto begin = unpacked.begin() + static_cast<std::ptrdiff_t>(i * n);
    x.codes.assign(begin, begin + static_cast<std::ptrdiff_t>(n));
    x.scales = row_by_row(*plan.order, grid_of(x.view.scale_shape),
                          std::span<const std::uint32_t>(scales).subspan(i * of_each, of_each));
    if (!tensors.empty()) {
      x.tensor.decode = decode_scale_of(plan, format, tensors[tensors.size() == 1 ? 0 : i]);
    }
    values_of_blocks(format, x, std::span(out).subspan(i * n, n));
  }
  return out;
}

}  // namespace

DecodedFile decode_block_file(const DecodeRule& rule, const TensorFile& file,
                              const std::string& out) {
  const TensorPlaces places = tensor_places(file);
  const std::vector<std::string> names = quantized_names(file, places);
  if (names.empty()) {
    throw error_in(file.path(), "no codes and scales by the names of any --layout",
                   "give a file that `binade quantize --encode` or a stack wrote");
  }
  const std::vector<LonePart> lone = lone_parts(file, places, names);
  if (!lone.empty()) {
    throw error_in(file.path(), lone_part_text(file, lone[0]),
                   "give a file that has all parts of the tensor, or none");
  }
  const NamedOrCustomBlock format = format_of_file(rule, file);
  std::vector<DecodePlan> plans;
  std::vector<bool> is_part(file.tensors().size());
  for (const std::string& name : names) {
    const QuantizedParts parts = *parts_of_tensor(places, name);
    plans.push_back(plan_of(rule, format, file, name, parts));
    is_part[parts.codes] = is_part[parts.scales] = true;
    if (parts.tensor) is_part[*parts.tensor] = true;
  }
  DecodedFile told;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < is_part.size(); ++i) {
    if (!is_part[i]) others.push_back(i);
  }
  const CopiedTensors copied = tensors_to_copy(file, others);
  told.copied = copied.indices.size();
  told.left_out = copied.left_out;
  constexpr unsigned width = 32;  // of the values
  std::vector<TensorSpec> specs;
  const auto in_order = [&](const auto& copy, const auto& decode) {
    copied.each(
        file, [&](unsigned bits) { return bits >= width; }, copy);
    for (const DecodePlan& plan : plans) decode(plan);
    copied.each(
        file, [&](unsigned bits) { return bits < width; }, copy);
  };
  in_order(
      [&](std::size_t i) {
        const TensorInfo& info = file.tensors()[i];
        specs.push_back({info.name, info.dtype, info.shape});
      },
      [&](const DecodePlan& plan) {
        specs.push_back({plan.name, *find_dtype("F32"), plan.shape});
      });
  SafetensorsWriter writer(out, specs);
  in_order([&](std::size_t i) { writer.write(stored_array(file, i).bytes); },
           [&](const DecodePlan& plan) {
             const std::vector<float> values = values_of_plan(plan, format.format, file);
             writer.write(std::as_bytes(std::span(values)));
             told.tensors.push_back({plan.name, format.name, plan.shape});
           });
  writer.finish();
  return told;
}

}  // namespace binade
