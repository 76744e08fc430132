// SPDX-License-Identifier: Apache-2.0
//
// Tensors gathered by role; summaries are integers, so what is merged is as exact as what was read.
#include "lib/report/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "lib/tensor/error.h"

namespace binade {
namespace {

bool holds_gradient(const TensorReport& tensor) { return tensor.role && is_gradient(*tensor.role); }

/// A gradient, of a step that is not passed over.
bool is_scaled(const TensorReport& tensor, const Report& report) {
  return holds_gradient(tensor) &&
         !(tensor.time && std::ranges::binary_search(report.passed_over, tensor.time->step));
}

/// Nothing yet, with the columns of the report.
TensorReport nothing_named(std::string name, const Report& report) {
  TensorReport out;
  out.name = std::move(name);
  out.summary = empty_summary(report.total.summary.columns);
  return out;
}

/// "step 3", "steps 3, 4, 7", "30 steps from 3 to 4399"
std::string steps_words(const std::vector<std::uint64_t>& steps) {
  constexpr std::size_t most = 8;
  if (steps.size() > most) {
    return fmt::format("{} steps from {} to {}", steps.size(), steps.front(), steps.back());
  }
  return fmt::format("step{} {}", steps.size() == 1 ? "" : "s", fmt::join(steps, ", "));
}

/// "4 weight, 4 act", of tensors that are no gradients.
std::string counted_roles(const std::vector<RoleReport>& roles) {
  std::vector<std::string> words;
  for (const auto& [tensors, all] : roles) {
    const bool gradient = all.role && is_gradient(*all.role);
    if (!gradient) words.push_back(fmt::format("{} {}", tensors, all.name));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The roles, if there are several, each of all its tensors.
std::vector<RoleReport> by_role(const Report& report) {
  std::map<std::size_t, RoleReport> roles;
  for (const TensorReport& tensor : report.tensors) {
    const std::size_t place =
        tensor.role ? static_cast<std::size_t>(*tensor.role) : tensor_role_names.size();
    auto [at, is_new] = roles.try_emplace(place);
    auto& [tensors, all] = at->second;
    if (is_new) {
      all = nothing_named(std::string(name_of(tensor.role)), report);
      all.role = tensor.role;
    }
    ++tensors;
    merge(all.summary, tensor.summary);
  }
  std::vector<RoleReport> out;
  if (roles.size() < 2) return out;
  for (auto& [place, role] : roles) {
    analyse(role.all, report.options);
    out.push_back(std::move(role));
  }
  return out;
}

/// The first of the files whose name tells that they hold gradients, and how many more; empty if none does.
std::string files_of_gradients(std::span<const NamedTensor> named) {
  std::set<std::string> files;
  for (const NamedTensor& tensor : named) {
    if (tensor.by_file) files.insert(tensor.place.file->path());
  }
  if (files.empty()) return "";
  const std::string first =
      printable(std::filesystem::path(*files.begin()).filename().string(), 60);
  return files.size() == 1 ? first : fmt::format("{} and {} more", first, files.size() - 1);
}

/// Of tensors without a place in time, whose NaN and Inf the scale does not look at.
std::string not_finite_words(const Report& report) {
  std::vector<const TensorReport*> odd;
  for (const TensorReport& t : report.tensors) {
    const bool scaled = report.gradients ? holds_gradient(t) && !t.time : true;
    if (scaled && t.summary.nan + t.summary.inf > 0) odd.push_back(&t);
  }
  if (odd.empty()) return "";
  return fmt::format("NaN and Inf are left out: {} of the tensors hold{} some, first {}.",
                     odd.size(), odd.size() == 1 ? "s" : "", printable(odd[0]->name, 60));
}

/// What the loss scale was taken from, where names leave that open.
std::string basis_of(const Report& report, std::span<const NamedTensor> named) {
  constexpr const char* how = "--role grad=REGEX tells which are (binade report --help).";
  const std::size_t tensors = report.tensors.size();
  const auto used = static_cast<std::size_t>(
      std::ranges::count_if(report.tensors, [&](auto& t) { return is_scaled(t, report); }));
  const bool any = std::ranges::any_of(report.tensors, holds_gradient);
  const bool others =
      std::ranges::any_of(named, [](const NamedTensor& t) { return !t.role && !t.by_rule; });
  std::vector<std::string> words;
  const std::string files = files_of_gradients(named);
  if (!files.empty()) {
    words.push_back(fmt::format(
        "Gradients by the name of the file ({}); --role weight=REGEX tells what is none.", files));
  }
  if (any && !report.roles.empty()) {
    const std::string left = counted_roles(report.roles);
    if (!left.empty()) {
      words.push_back(fmt::format(
          "Taken from {} gradient{}. Left out: {}; {}", used, used == 1 ? "" : "s", left,
          others ? fmt::format("if there are gradients among the others, {}", how)
                 : "no loss scale multiplies them."));
    }
  }
  if (!any) {
    std::string roles;
    if (!report.roles.empty()) {
      roles = fmt::format(" ({})", counted_roles(report.roles));
    } else if (!others) {
      const bool by_rule = std::ranges::all_of(named, &NamedTensor::by_rule);
      roles =
          fmt::format(" ({} {})", by_rule ? "by --role" : "named", name_of(report.tensors[0].role));
    }
    const std::string taken =
        tensors == 1 ? fmt::format("the tensor{} is taken as one.", roles)
                     : fmt::format("the {} tensors{} are taken as gradients.", tensors, roles);
    words.push_back(fmt::format("No name tells a gradient: {} {}", taken, how));
  }
  words.push_back(not_finite_words(report));
  std::erase(words, "");
  return fmt::format("{}", fmt::join(words, " "));
}

/// Weights and activations are not multiplied by the loss scale: the gradients alone decide it.
void scale_gradients(Report& report) {
  if (std::ranges::none_of(report.tensors, holds_gradient)) return;
  report.passed_over = steps_not_finite(report.tensors);
  TensorReport& all = report.gradients.emplace(nothing_named("gradients", report));
  std::vector<const TensorReport*> gradients;
  for (const TensorReport& tensor : report.tensors) {
    if (!is_scaled(tensor, report)) continue;
    gradients.push_back(&tensor);
    merge(all.summary, tensor.summary);
  }
  analyse(all, report.options);
  report.loss_scale = joint_loss_scale(gradients, all.summary, report.options);
  if (report.passed_over.empty()) return;
  const std::string words = steps_words(report.passed_over);
  if (gradients.empty()) {
    report.loss_scale.status = "not finite";
    report.loss_scale.reason =
        fmt::format("Gradients hold NaN or Inf in every step ({}): no scale can be told.", words);
  } else {
    if (!report.loss_scale.reason.ends_with('.')) report.loss_scale.reason += ".";
    report.loss_scale.reason +=
        fmt::format(" Passed over, because {} gradients hold NaN or Inf: {}.",
                    report.passed_over.size() == 1 ? "its" : "their", words);
  }
}

}  // namespace

void take_roles(Report& report, std::span<const NamedTensor> named) {
  scale_gradients(report);
  report.roles = by_role(report);
  report.loss_scale.basis = basis_of(report, named);
}

}  // namespace binade
