// SPDX-License-Identifier: Apache-2.0
//
// The floating tensors of a report's files, with what their names and the files' names tell.
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

/// A tensor in a file.
struct TensorPlace {
  const TensorFile* file = nullptr;
  std::size_t index = 0;

  const TensorInfo& info() const { return file->tensors()[index]; }
};

struct NamedTensor {
  TensorPlace place;
  std::optional<TensorRole> role;
  std::optional<TensorTime> time;
  bool by_file = false;  ///< the file's name tells that it is a gradient
  bool by_rule = false;  ///< a rule tells its role
  bool by_run = false;   ///< the run that it was counted in tells role and time
};

/// Why a tensor is not read; empty for the floating ones of this toolkit's formats.
std::string reason_to_skip(const Dtype& dtype);

/// In the order of the files. Of a counted run's neither names nor rules are asked. Where a file is named as one of gradients and no tensor in it tells that it is one, all
/// are, but those whose name has the form step<digits>/<layer>/<role>.
std::vector<NamedTensor> named_tensors(const std::vector<std::unique_ptr<TensorFile>>& files,
                                       std::span<const RoleRule> rules);

/// The first rule that fits no name, if there is one.
std::string unused_rule(std::span<const NamedTensor> tensors, std::span<const RoleRule> rules);

/// What to tell of names that begin as those of steps do and yet give no time axis; empty if there are none.
std::string time_hint(std::span<const NamedTensor> tensors);

}  // namespace binade
