// SPDX-License-Identifier: Apache-2.0
//
// The casts of Apex's O1: the wrappers of apex/amp/wrap.py (make_cast_wrapper,
// make_promote_wrapper, sequence_promote, err_if_any_half), clause by clause.
#include "lib/amp/apex.h"

#include <algorithm>
#include <array>
#include <string>

#include "lib/format/format_spec.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// The functions of torch_overrides.SEQUENCE_CASTS: for formats that they do not know they leave
/// the inputs as they are.
constexpr std::array<std::string_view, 2> apex_sequence_casts{"cat", "stack"};

/// Returns binary32 if the inputs are of binary16 and binary32, nothing if all have one format.
/// Throws Error for other mixed formats, except for sequence casts, which get nothing.
std::optional<Format> apex_widest(std::string_view op, std::span<const Format> inputs) {
  const auto differs = [inputs](const Format& format) { return format != inputs.front(); };
  if (std::ranges::none_of(inputs, differs)) return std::nullopt;
  const auto other = std::ranges::find_if(
      inputs, [](const Format& format) { return format != binary16 && format != binary32; });
  if (other == inputs.end()) return binary32;
  if (std::ranges::find(apex_sequence_casts, op) != apex_sequence_casts.end()) return std::nullopt;
  throw Error(std::string(op) +
              ": Apex promotes binary16 and binary32 to binary32 and does not know how to handle " +
              spec_of(*other) + " beside another; cast it");
}

}  // namespace

std::optional<Format> apex_dtype(std::string_view op, std::span<const Format> inputs) {
  if (inputs.empty()) return std::nullopt;
  switch (apex_cast_policy(op)) {
    case CastPolicy::lower_precision_fp: return binary16;
    case CastPolicy::fp32: return binary32;
    case CastPolicy::promote: return apex_widest(op, inputs);
    case CastPolicy::banned:
      if (std::ranges::find(inputs, binary16) == inputs.end()) return std::nullopt;
      throw Error(std::string(op) +
                  ": Apex refuses it for inputs of binary16; combine it with the sigmoid before it "
                  "(binary_cross_entropy_with_logits), or give it binary32");
    case CastPolicy::fp32_set_opt_dtype:  // only PyTorch's lists have these two
    case CastPolicy::fp32_append_dtype:
    case CastPolicy::unlisted: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace binade
