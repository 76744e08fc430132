// SPDX-License-Identifier: Apache-2.0
//
// Reads the names of tensors and files, each once, and applies the rules for roles to them.
#include "lib/report/named_tensors.h"

#include <algorithm>

#include "emulate/format.h"
#include "lib/report/counted_tensors.h"
#include "lib/report/name_pattern.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns the role of a tensor in a file of gradients, given the role that its own name says.
TensorRole as_gradient(std::optional<TensorRole> role) {
  if (role && is_gradient(*role)) return *role;
  if (role == TensorRole::weight) return TensorRole::d_weight;
  return role == TensorRole::act ? TensorRole::d_act : TensorRole::gradient;
}

bool may_be_gradient(const NamedTensor& tensor) {
  const std::string& name = tensor.place.info().name;
  const bool of_a_run =
      tensor.time && name.ends_with("/" + std::string(tensor_role_name(tensor.role)));
  return !of_a_run && tensor.role != TensorRole::update && may_be_parameter(name) &&
         !tensor.by_rule;
}

}  // namespace

std::string reason_to_skip(const Dtype& dtype) {
  if (dtype.kind != DtypeKind::floating) return std::string(to_string(dtype.kind));
  return find_format(dtype.format) ? "" : "no format of this toolkit";
}

std::vector<NamedTensor> named_tensors(const std::vector<std::unique_ptr<TensorFile>>& files,
                                       std::span<const RoleRule> rules) {
  std::vector<NamedTensor> out;
  for (const auto& file : files) {
    const std::size_t first = out.size();
    if (const CountedRun* const run = run_in(*file)) {
      for (std::size_t i = 0; i < run->tensors.size(); ++i) {
        const RunTensor& tensor = run->tensors[i];
        out.push_back({.place = {file.get(), i},
                       .role = tensor.time.role,
                       .time = tensor.time,
                       .by_run = true,
                       .binds_scale = tensor.binds_scale});
      }
      continue;
    }
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      const TensorInfo& info = file->tensors()[i];
      if (!reason_to_skip(info.dtype).empty()) continue;
      const RoleRule* const rule = fitting_rule(info.name, rules);
      const std::optional<TensorRole> role = rule != nullptr ? rule->role : role_of(info.name);
      out.push_back({.place = {file.get(), i},
                     .role = role,
                     .time = tensor_time(info.name, role),
                     .by_rule = rule != nullptr});
    }
    const auto mine = std::span(out).subspan(first);
    const bool told = std::ranges::any_of(
        mine, [](const NamedTensor& t) { return tells_gradient_outright(t.place.info().name); });
    if (told || !is_named_as_gradients(file->path())) continue;
    for (NamedTensor& tensor : mine) {
      if (!may_be_gradient(tensor)) continue;
      tensor.role = as_gradient(tensor.role);
      tensor.by_file = true;
      tensor.time = tensor_time(tensor.place.info().name, tensor.role);
    }
  }
  return out;
}

std::string unused_rule(std::span<const NamedTensor> tensors, std::span<const RoleRule> rules) {
  for (const RoleRule& rule : rules) {
    const bool used = std::ranges::any_of(tensors, [&rule](const NamedTensor& tensor) {
      return tensor.by_rule && rule.pattern->is_in(tensor.place.info().name);
    });
    if (!used) return rule.text;
  }
  return "";
}

std::string time_hint(std::span<const NamedTensor> tensors) {
  std::size_t missed = 0;
  const std::string* first = nullptr;
  for (const NamedTensor& tensor : tensors) {
    const std::string& name = tensor.place.info().name;
    if (!misses_time(name, tensor.time)) continue;
    if (missed++ == 0) first = &name;
  }
  if (missed == 0) return "";
  const std::string one = missed == 1 ? "s" : "";
  return std::to_string(missed) + " of " + std::to_string(tensors.size()) + " names hold" + one +
         " a step and yet tell" + one + " no place in time ('" + printable(*first) +
         "'): name tensors step10/fc1/dW or step10/fc1.weight.grad (binade report --help).";
}

}  // namespace binade
