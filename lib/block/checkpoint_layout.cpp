// SPDX-License-Identifier: Apache-2.0
//
// The table of layouts of checkpoints.
#include "lib/block/checkpoint_layout.h"

#include <array>
#include <vector>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

constexpr auto checkpoint_rows = std::to_array<CheckpointLayout>({
    {.name = "plain",
     .elements = "{name}",
     .scales = "{name}_scale",
     .tensor = "{name}_scale_2",
     .source = "binade's own: codes and scales as they come"},
    {.name = "modelopt",
     .elements = "{name}",
     .scales = "{name}_scale",
     .tensor = "{name}_scale_2",
     .formats = "nvfp4 mxfp8_e4m3 mxfp4 fp8_tensor",
     .as_bytes = "F8_E8M0",
     .rules = "modelopt",
     .source = "NVIDIA/Model-Optimizer a2fbac7, modelopt/torch/export"},
    {.name = "compressed-tensors",
     .elements = "{name}_packed",
     .scales = "{name}_scale",
     .tensor = "{name}_global_scale",
     .part = TensorScalePart::encode,
     .tensor_axes = 1,
     .formats = "nvfp4 mxfp4",
     .as_bytes = "F8_E8M0",
     .rules = "compressed_tensors",
     .source = "vllm-project/compressed-tensors 0.20.1"},
    {.name = "deepseek",
     .elements = "{name}",
     .scales = "{name}_scale_inv",
     .tensor = "",
     .formats = "fp8_128x128 fp8_1x128",
     .rules = "deepseek",
     .source = "DeepSeek-V3's files; the scale multiplies, whatever its name says"},
    {.name = "torchao",
     .elements = "{layer}._{last}_qdata",
     .scales = "{layer}._{last}_scale",
     .tensor = "{layer}._{last}_per_tensor_scale",
     .rules = "torchao torchao_floor",
     .source = "pytorch/ao 1926418, torchao/prototype/safetensors, without its metadata"},
    {.name = "gpt-oss",
     .elements = "{name}_blocks",
     .scales = "{name}_scales",
     .tensor = "",
     .formats = "mxfp4",
     .as_bytes = "F8_E8M0",
     .rules = "triton_kernels",
     .block_axis = true,
     .source = "openai/gpt-oss 1983a9d, gpt_oss/torch/weights.py; transformers 0189b1d, "
               "integrations/mxfp4.py, whose quantizer is triton_kernels"},
    {.name = "te",
     .elements = "{name}._rowwise_data",
     .scales = "{name}._rowwise_scale_inv",
     .tensor = "{name}._amax_rowwise",
     .part = TensorScalePart::amax,
     .tensor_axes = 1,
     .scale_layouts = "te te_2d te_1d",
     .formats = "mxfp8_e4m3 mxfp8_e5m2 nvfp4 fp8_128x128 fp8_1x128 "
                "e5m2:block=128x128:scale=binary32 e5m2:block=1x128:scale=binary32",
     .as_bytes = "F8_E8M0 F8_E4M3 F8_E5M2",
     .rules = "te_pow2 te",
     .as_rows = true,
     .unread = "_columnwise_data _columnwise_scale_inv",
     .source = "TransformerEngine d0067d0, pytorch/tensor"},
});

}  // namespace

const std::span<const CheckpointLayout> checkpoint_layouts = checkpoint_rows;

const CheckpointLayout& parse_checkpoint_layout(std::string_view name) {
  for (const CheckpointLayout& row : checkpoint_rows) {
    if (row.name == name) return row;
  }
  throw Error("--layout: no layout '" + printable(name) + "'; choose " +
              alternatives(names_of(checkpoint_layouts)));
}

const ScaleLayout& scale_layout_of(const CheckpointLayout& layout, const BlockFormat& format) {
  for (const std::string_view name : split(layout.scale_layouts, ' ')) {
    const ScaleLayout& found = *find_scale_layout(name);
    if (found.is_of(format)) return found;
  }
  return *find_scale_layout("row_major");
}

const NamedScaleRule& usual_rule(const CheckpointLayout& layout, const BlockFormat& format,
                                 const NamedScaleRule& usual) {
  for (const std::string_view name : split(layout.rules, ' ')) {
    const NamedScaleRule* found = name.empty() ? nullptr : find_scale_rule(name, format);
    if (found != nullptr) return *found;
  }
  // A list of formats is what the stack has, each by a rule of its own.
  if (!layout.formats.empty()) {
    throw Error("--layout " + std::string(layout.name) +
                ": no rule of that stack is known for this format; choose one by --scale-rule");
  }
  return usual;
}

std::string part_name(std::string_view pattern, std::string_view tensor) {
  const std::size_t dot = tensor.rfind('.');
  const std::string_view layer = dot == std::string_view::npos ? "" : tensor.substr(0, dot);
  const std::string_view last = dot == std::string_view::npos ? tensor : tensor.substr(dot + 1);
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    const auto put = [&](std::string_view word, std::string_view text) {
      if (!pattern.substr(at).starts_with(word)) return false;
      out += text;
      at += word.size();
      return true;
    };
    if (put("{layer}.", dot == std::string_view::npos ? "" : std::string(layer) + ".")) continue;
    if (put("{name}", tensor) || put("{last}", last)) continue;
    out += pattern[at++];
  }
  return out;
}

std::optional<std::string> name_of_part(std::string_view pattern, std::string_view part) {
  const std::size_t end = pattern.rfind('}');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view suffix = pattern.substr(end + 1);
  if (!part.ends_with(suffix)) return std::nullopt;
  const std::string_view stem = part.substr(0, part.size() - suffix.size());
  std::string name(stem);
  if (!pattern.starts_with("{name}")) {  // {layer}._{last}
    const std::size_t at = stem.rfind("._");
    name = at == std::string_view::npos
               ? std::string(stem.substr(stem.empty() ? 0 : 1))
               : std::string(stem.substr(0, at)) + "." + std::string(stem.substr(at + 2));
  }
  return part_name(pattern, name) == part ? std::optional(name) : std::nullopt;
}

}  // namespace binade
