// SPDX-License-Identifier: Apache-2.0
//
// Tensors of integers are left out; codes with scales beside them are refused.
#include "lib/io/chosen_tensors.h"

#include <fmt/format.h>
#include <fnmatch.h>

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

std::vector<std::size_t> keep_chosen(ChosenTensors& chosen, const TensorFile& file,
                                     const NameGlobs& globs) {
  const auto takes = [](const std::string& glob, const TensorInfo& info) {
    return fnmatch(glob.c_str(), info.name.c_str(), 0) == 0;
  };
  const auto any = [&](const std::vector<std::string>& list, const TensorInfo& info) {
    return std::ranges::any_of(list, [&](const std::string& glob) { return takes(glob, info); });
  };
  const auto check_used = [&](const char* option, const std::vector<std::string>& list) {
    for (const std::string& glob : list) {
      const bool is_used = std::ranges::any_of(
          chosen.indices, [&](std::size_t i) { return takes(glob, file.tensors()[i]); });
      if (is_used) continue;
      throw error_in(file.path(),
                     fmt::format("{} {}: no floating-point tensor has such a name", option,
                                 printable(glob, 60)),
                     "check the spelling, and quote the glob");
    }
  };
  check_used("--include", globs.include);
  check_used("--exclude", globs.exclude);
  ChosenTensors kept;
  for (const std::size_t i : chosen.indices) {
    const TensorInfo& info = file.tensors()[i];
    if ((!globs.include.empty() && !any(globs.include, info)) || any(globs.exclude, info)) continue;
    kept.indices.push_back(i);
    kept.bytes += info.bytes;
  }
  if (kept.indices.empty()) {
    throw error_in(file.path(), "--include and --exclude leave no tensor", "nothing to quantize");
  }
  chosen = std::move(kept);
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    if (std::ranges::find(chosen.indices, i) == chosen.indices.end()) others.push_back(i);
  }
  return others;
}

}  // namespace binade
