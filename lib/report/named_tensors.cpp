// SPDX-License-Identifier: Apache-2.0
//
// Reads the names of tensors and files, each once, and applies the rules for roles to them.
#include "lib/report/named_tensors.h"

#include <algorithm>

#include "emulate/format.h"
#include "lib/io/scaled_codes.h"
#include "lib/report/counts_tensor_file.h"
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

std::vector<std::vector<std::string>> reasons_to_skip(
    const std::vector<std::unique_ptr<TensorFile>>& files, std::span<const RoleRule> rules) {
  std::vector<const TensorInfo*> infos;
  for (const auto& file : files) {
    if (counted_in(*file) != nullptr) continue;
    for (const TensorInfo& info : file->tensors()) infos.push_back(&info);
  }
  const std::vector<std::string> codes = code_reasons(infos);
  std::vector<std::vector<std::string>> out;
  std::size_t at = 0;
  for (const auto& file : files) {
    std::vector<std::string>& of_file = out.emplace_back();
    const bool counted = counted_in(*file) != nullptr;
    for (const TensorInfo& info : file->tensors()) {
      const std::string& code = counted ? std::string() : codes[at++];
      std::string reason = reason_to_skip(info.dtype);
      if (!reason.empty() && !info.made_by.empty()) reason = "made by " + info.made_by;
      if (!counted && fitting_rule(info.name, rules) == nullptr) {
        if (!code.empty()) reason = code;
        if (reason.empty() && is_step_count(info.name)) reason = "a count of steps";
      }
      of_file.push_back(std::move(reason));
    }
  }
  return out;
}

std::vector<NamedTensor> named_tensors(const std::vector<std::unique_ptr<TensorFile>>& files,
                                       std::span<const RoleRule> rules) {
  std::vector<NamedTensor> out;
  const auto reasons = reasons_to_skip(files, rules);
  for (std::size_t number = 0; number < files.size(); ++number) {
    const auto& file = files[number];
    const std::size_t first = out.size();
    if (const RunCounts* const run = run_in(*file)) {
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
      if (!reasons[number][i].empty()) continue;
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
