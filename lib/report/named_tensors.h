// SPDX-License-Identifier: Apache-2.0
//
// The floating-point tensors of a report's files, with what their names and the names of the files
// say about them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/io/tensor_file.h"
#include "lib/report/tensor_role.h"

namespace binade {

/// Where a tensor is: its file, and its index there.
struct TensorPlace {
  const TensorFile* file = nullptr;
  std::size_t index = 0;

  const TensorInfo& info() const { return file->tensors()[index]; }
};

struct NamedTensor {
  TensorPlace place;
  std::optional<TensorRole> role;
  std::optional<TensorTime> time;
  bool by_file = false;     ///< the name of the file says that it is a gradient
  bool by_rule = false;     ///< a rule (--role) decides its role
  bool by_run = false;      ///< a counted run (run_counts.h) states its role and step
  bool binds_scale = true;  ///< false if a counted run says that it binds none (RunTensor)
};

/// Returns why a tensor of this dtype is not read; empty for floating-point dtypes whose format
/// this toolkit knows.
std::string reason_to_skip(const Dtype& dtype);

/// Returns, for each tensor of each file, why the report leaves it out; empty for those that it
/// covers. It leaves out what is not floating, codes whose scales are other tensors and these
/// scales (io/scaled_codes.h), and an optimizer's counts of its steps. A tensor that a rule fits is
/// left out for its dtype alone.
std::vector<std::vector<std::string>> reasons_to_skip(
    const std::vector<std::unique_ptr<TensorFile>>& files, std::span<const RoleRule> rules);

/// Returns the tensors that are not left out, in the order of the files. If the name of a file says
/// that it holds gradients and no tensor's name in it does, its tensors are taken as gradients,
/// except updates, state of an optimizer, tensors whose role a rule decides, and those named
/// step<digits>/<layer>/<role>. Neither names nor rules are applied to files of
/// binade.torch.watch (run_counts.h): these hold summaries without elements, and state role and
/// step.
std::vector<NamedTensor> named_tensors(const std::vector<std::unique_ptr<TensorFile>>& files,
                                       std::span<const RoleRule> rules);

/// Returns the text of the first rule that no name matches, or an empty text.
std::string unused_rule(std::span<const NamedTensor> tensors, std::span<const RoleRule> rules);

/// Returns a hint about names that seem to contain a step but are not in the form that gives a time
/// axis; empty if there are none.
std::string time_hint(std::span<const NamedTensor> tensors);

}  // namespace binade
