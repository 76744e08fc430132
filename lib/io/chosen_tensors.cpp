// SPDX-License-Identifier: Apache-2.0
//
// Tensors of integers are left out; codes with scales beside them are refused.
#include "lib/io/chosen_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/io/scaled_codes.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Throws Error if some tensors of the file are codes whose scales are other tensors: they are no
/// values to round.
void refuse_scaled_codes(const TensorFile& file) {
  const std::vector<std::string> reasons = code_reasons(file.tensors());
  const auto at = std::ranges::find_if_not(reasons, &std::string::empty);
  if (at == reasons.end()) return;
  const TensorInfo& info = file.tensors()[static_cast<std::size_t>(at - reasons.begin())];
  throw error_in(file.path(),
                 fmt::format("{} ({}) is no tensor of values: {}", printable(info.name, 60),
                             info.dtype.name, *at),
                 "multiply codes by their scales first, and give the products");
}

}  // namespace

ChosenTensors choose_tensors(const TensorFile& file) {
  refuse_scaled_codes(file);
  ChosenTensors out;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const TensorInfo& info = file.tensors()[i];
    if (info.dtype.kind == DtypeKind::floating) {
      out.indices.push_back(i);
      out.bytes += info.bytes;
    } else {
      out.left_out.push_back(fmt::format("{} ({}, {})", printable(info.name, 60), info.dtype.name,
                                         info.made_by.empty()
                                             ? std::string(to_string(info.dtype.kind))
                                             : "made by " + info.made_by));
    }
  }
  if (out.indices.empty()) {
    throw error_in(file.path(), "no floating-point tensor", "nothing to quantize");
  }
  return out;
}

}  // namespace binade
