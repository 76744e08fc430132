// SPDX-License-Identifier: Apache-2.0
//
// A name is a layer and a last part, and the last part is words between underscores. What is left
// without the words for scales, codes and packing is the stem, which codes and their scales share:
// "weight" in weight_packed, weight_scale_inv, weight_global_scale, qweight.
#include "lib/io/scaled_codes.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Words that only names of scales and offsets have, and whole last parts that are such.
constexpr auto scale_words =
    std::to_array<std::string_view>({"scale", "scales", "scaling", "absmax", "scb", "zero", "zeros",
                                     "qzeros", "zp", "qscale", "qscales", "e8m0", "shift"});
constexpr auto scale_parts =
    std::to_array<std::string_view>({"g_idx", "quant_map", "nested_quant_map", "qmap", "q_groups",
                                     "q_group_map", "q_perm", "q_invperm", "codebooks", "biases"});
/// Of these, what a layer that is not quantized may have, too: a part of codes only beside a scale.
constexpr auto offset_parts = std::to_array<std::string_view>({"codebooks", "biases"});
/// Tables and scales of the states of bitsandbytes' optimizers, before the state's number: qmap1
/// and absmax1 of state1.
constexpr auto state_parts = std::to_array<std::string_view>({"qmap", "absmax", "max", "new_max"});
constexpr std::string_view codes_without = "codes without their scale, ";

/// Words that say that a tensor is packed or quantized.
constexpr auto code_words = std::to_array<std::string_view>(
    {"q", "qdata", "packed", "blocks", "codes", "quantized", "quant", "int8", "int4", "uint8",
     "fp8", "fp4", "nf4", "mxfp4", "nvfp4"});
/// Words that tell nothing of either.
constexpr auto filler =
    std::to_array<std::string_view>({"", "inv", "inverse", "global", "block", "nested", "data",
                                     "point", "points", "factor", "2", "ub", "max"});
/// What is quantized if a scale does not say what it is of; scales of the others belong to its
/// layer, too.
constexpr auto weights = std::to_array<std::string_view>({"weight", "kernel", "w", ""});
constexpr auto other_stems = std::to_array<std::string_view>(
    {"", "input", "in", "output", "out", "act", "activation", "k", "v", "q", "kv"});

bool is_among(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

/// What a name tells.
struct Parsed {
  std::string layer, stem;
  bool scale = false;   ///< it is named as one
  bool marked = false;  ///< as codes
  bool offset = false;  ///< as what is one beside a scale
};

/// The layer of a name, and its last part in lower case.
struct Split {
  std::string layer, last;
};

Split split(std::string_view name) {
  const std::size_t cut = name.find_last_of("./:");
  if (cut == std::string_view::npos) return {.layer = {}, .last = lower_case(name)};
  return {.layer = std::string(name.substr(0, cut)), .last = lower_case(name.substr(cut + 1))};
}

/// Reads the words of a last part.
Parsed parse(const Split& name) {
  const std::string& last = name.last;
  Parsed out{.layer = name.layer, .stem = {}};
  const std::string_view base =
      std::string_view(last).substr(0, last.find_last_not_of("0123456789") + 1);
  if (base.size() < last.size() && is_among(base, state_parts)) {
    out.scale = true;
    out.stem = "state" + last.substr(base.size());
    return out;
  }
  out.scale = is_among(last, scale_parts);
  out.offset = is_among(last, offset_parts);
  for (std::size_t at = 0; at <= last.size();) {
    const std::size_t end = std::min(last.find('_', at), last.size());
    std::string_view word = std::string_view(last).substr(at, end - at);
    at = end + 1;
    if (word == "qweight") {
      word = "weight";
      out.marked = true;
    }
    const bool scales = is_among(word, scale_words);
    const bool codes = is_among(word, code_words);
    out.scale = out.scale || scales;
    out.marked = out.marked || codes;
    if (scales || codes || is_among(word, filler)) continue;
    out.stem += (out.stem.empty() ? "" : "_") + std::string(word);
  }
  if (is_among(last, scale_parts)) out.stem.clear();
  return out;
}

/// Reads a tensor's name. Where the last part is of the one before, as in weight._data and
/// weight._scale, both are read as one.
Parsed parse(const TensorInfo& info) {
  const Split name = split(info.name);
  Parsed out = parse(name);
  if (out.stem.empty() && name.last.starts_with('_') && !name.layer.empty()) {
    Split whole = split(name.layer);
    whole.last += name.last;
    out = parse(whole);
  }
  out.scale = out.scale || info.dtype.name == "F8_E8M0";
  return out;
}

bool may_be_codes(const Dtype& dtype, bool marked) {
  if (marked && dtype.kind == DtypeKind::integer) return true;
  if (dtype.kind == DtypeKind::integer) return dtype.bits <= 8 || dtype.bits == 32;
  return dtype.kind == DtypeKind::packed || (dtype.kind == DtypeKind::floating && dtype.bits <= 8);
}

/// Whether a scale of the same layer is one of these codes.
bool belongs(const Parsed& scale, const Parsed& codes, const Dtype& dtype) {
  if (scale.stem == codes.stem)
    return !codes.stem.empty() || codes.marked || dtype.kind != DtypeKind::integer;
  const bool is_weight = is_among(codes.stem, weights);
  if (is_among(scale.stem, other_stems)) {
    return is_weight || codes.marked || (scale.stem.empty() && dtype.kind != DtypeKind::integer);
  }
  return false;
}

}  // namespace

std::vector<std::string> code_reasons(std::span<const TensorInfo* const> tensors) {
  std::vector<std::string> out(tensors.size());
  const auto is_candidate = [](const TensorInfo* info) { return may_be_codes(info->dtype, true); };
  if (std::ranges::none_of(tensors, is_candidate)) return out;
  std::vector<Parsed> parsed;
  std::map<std::string_view, std::vector<std::size_t>> scales;  // by layer
  for (const TensorInfo* info : tensors) parsed.push_back(parse(*info));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (parsed[i].scale) scales[parsed[i].layer].push_back(i);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (parsed[i].scale || !may_be_codes(tensors[i]->dtype, parsed[i].marked)) continue;
    std::vector<std::size_t> mine;
    if (const auto at = scales.find(parsed[i].layer); at != scales.end()) {
      std::ranges::copy_if(at->second, std::back_inserter(mine), [&](std::size_t k) {
        return belongs(parsed[k], parsed[i], tensors[i]->dtype);
      });
    }
    // Below the codes' own name: fc1.weight.absmax.
    if (const auto at = scales.find(tensors[i]->name); at != scales.end()) {
      mine.insert(mine.end(), at->second.begin(), at->second.end());
    }
    if (std::ranges::all_of(mine, [&](std::size_t k) { return parsed[k].offset; })) continue;
    for (const std::size_t k : mine) {
      out[i] +=
          std::string(out[i].empty() ? codes_without : ", ") + printable(tensors[k]->name, 60);
      out[k] = "a scale or offset of the codes " + printable(tensors[i]->name, 60);
    }
  }
  return out;
}

bool is_code_reason(const std::string& reason) { return reason.starts_with(codes_without); }

std::vector<std::string> code_reasons(const std::vector<TensorInfo>& tensors) {
  std::vector<const TensorInfo*> pointers;
  for (const TensorInfo& info : tensors) pointers.push_back(&info);
  return code_reasons(pointers);
}

}  // namespace binade
