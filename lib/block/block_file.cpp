// SPDX-License-Identifier: Apache-2.0
//
// Parts of a file stand in it by the width of their dtypes, so that each is aligned: numbers of
// binary32 of all tensors, then the bytes of all tensors. Where there are both, every tensor is
// quantized twice, once for each.
#include "lib/block/block_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <set>

#include "emulate/block_packing.h"
#include "lib/block/quantized_parts.h"
#include "lib/io/npy_writer.h"
#include "lib/io/safetensors_writer.h"
#include "lib/parallel/parallel.h"
#include "lib/range/event_columns.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// A part of a quantized tensor in a file.
struct BlockPart {
  TensorSpec spec;
  std::vector<std::byte> bytes = {};
};

bool packs_nibbles(const BlockFormat& format) { return format.element.bits() == 4; }

Dtype dtype_of_scales(const BlockFormat& format) {
  if (format.scale == binary32) return *find_dtype("F32");
  if (format.scale == e8m0) return *find_dtype("F8_E8M0");
  return format.scale == ue4m3 ? *find_dtype("F8_E4M3") : encoded_dtype(format.scale);
}

Dtype dtype_of_codes(const BlockFormat& format) {
  return packs_nibbles(format) || format.twos_complement ? *find_dtype("U8")
                                                         : encoded_dtype(format.element);
}

/// The dtype by which a layout writes numbers of a dtype.
Dtype written_dtype(const CheckpointLayout& layout, const Dtype& dtype) {
  const std::vector<std::string_view> as_bytes = split(layout.as_bytes, ' ');
  return std::ranges::find(as_bytes, dtype.name) == as_bytes.end() ? dtype : *find_dtype("U8");
}

/// The shape of the codes: two of 4 bits share a byte along the last axis.
std::vector<std::uint64_t> shape_of_codes(const BlockFormat& format,
                                          std::vector<std::uint64_t> shape) {
  if (packs_nibbles(format) && shape.empty()) shape = {1};
  if (packs_nibbles(format)) shape.back() = (shape.back() + 1) / 2;
  return shape;
}

const ScaleLayout& scale_layout_of(const BlockFileRule& rule) {
  if (rule.scale_layout != nullptr) return *rule.scale_layout;
  return scale_layout_of(*rule.layout, rule.format.format);
}

bool is_stack(const BlockFileRule& rule, const TensorInfo& info) {
  return rule.stack && info.shape.size() > 2;
}

std::vector<std::uint64_t> shape_of_scales(const BlockFileRule& rule, const BlockView& view) {
  const ScaleLayout& layout = scale_layout_of(rule);
  if (layout.name == "row_major") return view.scale_shape;
  return layout.shape(grid_of(view.scale_shape));
}

Dtype written_scales(const BlockFileRule& rule) {
  if (scale_layout_of(rule).word > 1) return *find_dtype("I32");
  return written_dtype(*rule.layout, dtype_of_scales(rule.format.format));
}

std::vector<std::byte> bytes_of_scales(const BlockFileRule& rule, const BlockTensor& x) {
  const std::vector<std::uint32_t> laid = laid_out(
      scale_layout_of(rule), grid_of(x.view.scale_shape), std::span<const std::uint32_t>(x.scales));
  const std::size_t bytes = code_bytes(rule.format.format.scale);
  std::vector<std::byte> out(laid.size() * bytes);
  for (std::size_t i = 0; i < laid.size(); ++i) std::memcpy(&out[i * bytes], &laid[i], bytes);
  return out;
}

std::vector<std::byte> bytes_of_codes(const BlockFormat& format,
                                      const std::vector<std::uint64_t>& shape,
                                      const std::vector<std::byte>& codes) {
  if (!packs_nibbles(format)) return codes;
  const std::size_t line = shape.empty() ? 1 : shape.back(), packed = (line + 1) / 2;
  const std::size_t lines = line == 0 ? 0 : codes.size() / line;
  std::vector<std::byte> out(lines * packed);
  for (std::size_t i = 0; i < lines; ++i) {
    fastest_kernels().pack_4(&codes[i * line], line, &out[i * packed], NibbleOrder::low_first);
  }
  return out;
}

std::vector<std::byte> bytes_of_word(std::uint32_t word) {
  std::vector<std::byte> out(sizeof word);
  std::memcpy(out.data(), &word, sizeof word);
  return out;
}

std::uint32_t tensor_scale_part(TensorScalePart part, const TensorScale& scale) {
  switch (part) {
    case TensorScalePart::decode: return scale.decode;
    case TensorScalePart::encode: return scale.encode;
    case TensorScalePart::amax: return scale.amax;
  }
  return scale.decode;
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// The shape of the codes as a layout has them. Throws Error if blocks would be short that have an
/// axis of their own.
std::vector<std::uint64_t> shape_of_codes(const BlockFileRule& rule,
                                          const std::vector<std::uint64_t>& shape) {
  const BlockFormat& format = rule.format.format;
  std::vector<std::uint64_t> out = shape_of_codes(format, shape);
  if (!rule.layout->block_axis) return out;
  const auto along = static_cast<std::uint64_t>(format.shape.along);
  if (shape.empty() || shape.back() % along != 0) {
    throw Error(
        fmt::format("--layout {}: an axis of {}, and blocks of {}, each along an axis of "
                    "its own, do not divide it",
                    rule.layout->name, shape.empty() ? 1 : shape.back(), along));
  }
  out.back() = shape.back() / along;
  out.push_back(packs_nibbles(format) ? along / 2 : along);
  return out;
}

/// The parts of a tensor, whose bytes are made only where it, or each of its stack, is given.
std::vector<BlockPart> parts_of(const BlockFileRule& rule, const TensorInfo& info,
                                const BlockView& view, std::span<const BlockTensor> made) {
  const BlockFormat& format = rule.format.format;
  const CheckpointLayout& layout = *rule.layout;
  const bool stack = is_stack(rule, info);
  std::vector<BlockPart> out;
  if (format.tensor_scale) {
    const std::size_t axes = stack ? 1 : static_cast<std::size_t>(layout.tensor_axes);
    const std::vector<std::uint64_t> extents(axes, stack ? info.shape[0] : 1);
    out.push_back({{part_name(layout.tensor, info.name), *find_dtype("F32"), extents}});
    for (const BlockTensor& one : made) {
      append(out.back().bytes, bytes_of_word(tensor_scale_part(layout.part, one.tensor)));
    }
  }
  std::vector<std::uint64_t> scales = shape_of_scales(rule, view), codes = info.shape;
  if (stack) scales.insert(scales.begin(), info.shape[0]);
  out.push_back({{part_name(layout.scales, info.name), written_scales(rule), scales}});
  for (const BlockTensor& one : made) append(out.back().bytes, bytes_of_scales(rule, one));
  out.push_back(
      {{part_name(layout.elements, info.name), written_dtype(layout, dtype_of_codes(format)),
        shape_of_codes(rule, info.shape)}});
  if (stack) codes.erase(codes.begin());
  for (const BlockTensor& one : made) {
    append(out.back().bytes, bytes_of_codes(format, codes, one.codes));
  }
  return out;
}

/// Throws Error if a stack's names would stand for blocks along another axis than the last.
void check_axis(const BlockFileRule& rule, std::size_t axes) {
  if (rule.layout == nullptr || rule.layout->name == "plain" || rule.axis == -1) return;
  if (rule.axis + 1 == static_cast<int>(axes)) return;
  throw Error(fmt::format("axis {}: the names of --layout {} are of blocks along the last axis",
                          rule.axis, rule.layout->name));
}

BlockView view_of(const BlockFileRule& rule, const TensorFile& file, const TensorInfo& info) {
  try {
    check_axis(rule, info.shape.size());
    if (rule.layout != nullptr) static_cast<void>(shape_of_codes(rule, info.shape));
    const BlockFormat& f = rule.format.format;
    const bool rows = rule.layout != nullptr && rule.layout->as_rows && f.shape.rows > 1;
    BlockView view = is_stack(rule, info) ? block_view_of_each(f, info.shape, rule.axis)
                     : rows               ? block_view(f, as_rows(info.shape), -1)
                                          : block_view(f, info.shape, rule.axis);
    if (rule.refuses_ragged && view.padding() > 0) {
      throw Error(fmt::format("blocks of {} do not divide its shape; leave out --ragged refuse",
                              shape_words(rule.format.format.shape)));
    }
    return view;
  } catch (const Error& e) {
    throw error_in(file.path(), printable(info.name, 60) + ": " + e.what(),
                   "choose another --axis or format, or leave the tensor out of the file");
  }
}

BlockQuantizer quantizer_of(const BlockFileRule& rule, const TensorInfo& info,
                            std::span<const float> x, std::size_t stream) {
  BlockQuantizer to{.format = rule.format.format,
                    .rule = rule_for(*rule.rule, *find_format(info.dtype.format)),
                    .attributes = rule.attributes,
                    .seed = rule.seed,
                    .stream = stream};
  if (to.format.tensor_scale) {
    to.tensor = tensor_scale(to.rule, to.format, amax_of(to.rule, x));
  }
  return to;
}

/// Calls act(quantizer, numbers) for a tensor, or for each of its stack. Each has random words of
/// its own.
void each_in_stack(const BlockFileRule& rule, const TensorInfo& info, std::span<float> x,
                   std::size_t stream,
                   const std::function<void(const BlockQuantizer&, std::span<float>)>& act) {
  const std::size_t n = is_stack(rule, info) ? info.shape[0] : 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<float> some = x.subspan(i * (x.size() / n), x.size() / n);
    act(quantizer_of(rule, info, some, stream + (i << 32)), some);
  }
}

/// Throws Error if a part of a tensor would have the name of another one.
void check_names(const BlockFileRule& rule, std::span<const TensorSpec> specs,
                 const std::string& out) {
  std::set<std::string_view> seen;
  for (const TensorSpec& spec : specs) {
    if (seen.insert(spec.name).second) continue;
    throw error_in(out,
                   fmt::format("two tensors would be '{}', one of them by the names of --layout {}",
                               printable(spec.name, 60), rule.layout->name),
                   "leave a tensor as it is by --exclude, or choose another --layout");
  }
}

/// The metadata of a file: what made it, and, of codes and scales, by whose names and orders they
/// stand and of which shape each tensor is.
std::map<std::string, std::string> told_of(const BlockFileRule& rule, const TensorFile& file,
                                           const ChosenTensors& chosen) {
  std::map<std::string, std::string> out{
      {"binade.format", rule.format.name},
      {"binade.scale_rule", std::string(rule.rule->name)},
      {"binade.axis", std::to_string(rule.axis)},
      {"binade.rounding", std::string(rounding_name(rule.attributes.rounding))}};
  if (rule.stack) out["binade.stack"] = "yes";
  if (rule.layout == nullptr) return out;
  out["binade.layout"] = rule.layout->name;
  out["binade.scale_layout"] = scale_layout_of(rule).name;
  nlohmann::ordered_json shapes;
  for (const std::size_t i : chosen.indices) {
    const TensorInfo& info = file.tensors()[i];
    shapes[printable(info.name, std::string::npos)] = info.shape;
  }
  out["binade.shapes"] = shapes.dump();
  return out;
}

}  // namespace

ScaleGrid grid_of(std::span<const std::uint64_t> scale_shape) {
  ScaleGrid out;
  if (scale_shape.empty()) return out;
  for (const std::uint64_t extent : scale_shape.first(scale_shape.size() - 1)) out.rows *= extent;
  out.columns = scale_shape.back();
  return out;
}

std::vector<float> numbers_of_tensor(const TensorFile& file, std::size_t index,
                                     const std::function<void(std::uint64_t)>& add_bytes) {
  const TensorInfo& info = file.tensors()[index];
  const Format from = *find_format(info.dtype.format);
  std::vector<float> out(info.elements);
  std::size_t done = 0;
  file.read(index, [&](std::span<const std::byte> chunk) {
    const std::size_t n = chunk.size() / code_bytes(from);
    to_binary32(from, chunk, std::span(out).subspan(done, n));
    done += n;
    add_bytes(chunk.size());
  });
  if (!info.fortran_order || info.shape.size() < 2) return out;
  const ElementIndex index_of = fortran_index(info.shape);
  if (!index_of) return out;
  std::vector<float> turned(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) turned[index_of(i)] = out[i];
  return turned;
}

void check_block_rule(const BlockFileRule& rule) {
  const CheckpointLayout* layout = rule.layout;
  if (layout == nullptr) return;
  const std::vector<std::string_view> known = split(layout->formats, ' ');
  if (!layout->formats.empty() && std::ranges::find(known, rule.format.name) == known.end()) {
    throw Error(fmt::format("--layout {}: that stack has no {}; it has {}", layout->name,
                            printable(rule.format.name), alternatives(known)));
  }
  check_scale_layout(scale_layout_of(rule), rule.format);
}

void check_scale_layout(const ScaleLayout& layout, const NamedOrCustomBlock& format) {
  if (layout.is_of(format.format)) return;
  std::vector<std::string_view> fitting;
  for (const ScaleLayout& row : scale_layouts) {
    if (row.is_of(format.format)) fitting.push_back(row.name);
  }
  throw Error(fmt::format("--scale-layout {}: no order of the scales of {}; choose {}", layout.name,
                          printable(format.name), alternatives(fitting)));
}

int readings(const BlockFileRule& rule) {
  const BlockFormat& format = rule.format.format;
  if (rule.layout == nullptr) return 1;
  return format.tensor_scale || written_scales(rule).bits == 32 ? 2 : 1;
}

std::vector<BlockCounts> quantize_block_file(const BlockFileRule& rule, const TensorFile& file,
                                             const ChosenTensors& chosen, const std::string& out,
                                             const std::function<void(std::uint64_t)>& progress,
                                             const CopiedTensors& copied) {
  const std::vector<TensorInfo>& tensors = file.tensors();
  std::vector<BlockView> views;
  for (const std::size_t i : chosen.indices) views.push_back(view_of(rule, file, tensors[i]));
  std::uint64_t done = 0;
  std::vector<BlockCounts> counts(chosen.indices.size());
  const auto numbers_of = [&](std::size_t n) {
    return numbers_of_tensor(file, chosen.indices[n],
                             [&](std::uint64_t bytes) { progress(done += bytes); });
  };
  if (rule.layout == nullptr) {
    const auto write_all = [&](auto& writer) {
      for (std::size_t n = 0; n < views.size(); ++n) {
        std::vector<float> values = numbers_of(n);
        each_in_stack(rule, tensors[chosen.indices[n]], values, n,
                      [&](const BlockQuantizer& to, std::span<float> some) {
                        quantize_blocks(to, views[n], some, {.values = some.data()}, counts[n]);
                      });
        writer.write(std::as_bytes(std::span(values)));
      }
      writer.finish();
    };
    if (out.ends_with(".npy")) {
      if (views.size() > 1) {
        throw error_in(out, fmt::format("a .npy holds one array, not {}", views.size()),
                       "name it .safetensors");
      }
      NpyWriter writer(out, *find_dtype("F32"), tensors[chosen.indices[0]].shape, false);
      write_all(writer);
      return counts;
    }
    std::vector<TensorSpec> specs;
    for (const std::size_t i : chosen.indices) {
      specs.push_back({tensors[i].name, *find_dtype("F32"), tensors[i].shape});
    }
    SafetensorsWriter writer(out, specs, told_of(rule, file, chosen));
    write_all(writer);
    return counts;
  }
  // Parts of 32 bits stand before those of 8, and among those that are copied by their width.
  constexpr std::array<unsigned, 4> widths{64, 32, 16, 8};
  std::vector<TensorSpec> specs;
  const auto copy_of = [&](unsigned width, const std::function<void(std::size_t)>& act) {
    copied.each(
        file, [&](unsigned bits) { return bits == width; }, act);
  };
  for (const unsigned width : widths) {
    copy_of(width, [&](std::size_t i) {
      specs.push_back({tensors[i].name, tensors[i].dtype, tensors[i].shape});
    });
    for (std::size_t n = 0; n < views.size(); ++n) {
      for (BlockPart& part : parts_of(rule, tensors[chosen.indices[n]], views[n], {})) {
        if (part.spec.dtype.bits == width) specs.push_back(std::move(part.spec));
      }
    }
  }
  check_names(rule, specs, out);
  SafetensorsWriter writer(out, specs, told_of(rule, file, chosen));
  for (const unsigned width : widths) {
    copy_of(width, [&](std::size_t i) { writer.write(stored_array(file, i).bytes); });
    for (std::size_t n = 0; n < views.size(); ++n) {
      const TensorInfo& info = tensors[chosen.indices[n]];
      const std::vector<BlockPart> empty = parts_of(rule, info, views[n], {});
      const auto is_in = [&](const BlockPart& part) { return part.spec.dtype.bits == width; };
      if (std::ranges::none_of(empty, is_in)) continue;
      std::vector<float> x = numbers_of(n);
      counts[n] = {};
      std::vector<BlockTensor> made;
      each_in_stack(rule, info, x, n, [&](const BlockQuantizer& to, std::span<float> some) {
        made.push_back(quantize_blocks(to, views[n], some, counts[n]));
      });
      for (const BlockPart& part : parts_of(rule, info, views[n], made)) {
        if (is_in(part)) writer.write(part.bytes);
      }
    }
  }
  writer.finish();
  return counts;
}

std::string block_counts_text(const BlockFileRule& rule, const TensorFile& file,
                              const ChosenTensors& chosen, const std::vector<BlockCounts>& counts) {
  std::string text = counts_head("tensor");
  BlockCounts all;
  for (std::size_t n = 0; n < counts.size(); ++n) {
    text += counts_line(file.tensors()[chosen.indices[n]].name, counts[n].elements);
    all += counts[n];
  }
  if (counts.size() > 1) text += counts_line("total", all.elements);
  text += fmt::format("\n{:<36}{:>13}{:>11}{:>11}{:>12}{:>12}{:>12}\n",
                      "scales by " + std::string(rule.rule->name), "blocks", "clamped", "zero",
                      "not finite", "saturated", "padding");
  const auto line = [&](std::string_view name, const BlockCounts& c) {
    const std::string shown = printable(std::string(name), 60);
    text += fmt::format("{:<36}{:>13}{:>11}{:>11}{:>12}{:>12}{:>12}\n",
                        shown.size() > 36 ? shown.substr(0, 33) + "..." : shown, c.scales.blocks,
                        c.scales.clamped, c.scales.zero, c.scales.nonfinite, c.scales.saturated,
                        c.padding);
  };
  for (std::size_t n = 0; n < counts.size(); ++n) {
    line(file.tensors()[chosen.indices[n]].name, counts[n]);
  }
  if (counts.size() > 1) line("total", all);
  return text;
}

nlohmann::ordered_json scale_counts_json(const BlockCounts& counts) {
  const ScaleCounts& x = counts.scales;
  return {{"blocks", x.blocks},       {"clamped", x.clamped},     {"zero", x.zero},
          {"nonfinite", x.nonfinite}, {"saturated", x.saturated}, {"padding", counts.padding}};
}

}  // namespace binade
