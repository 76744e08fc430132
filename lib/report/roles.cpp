// SPDX-License-Identifier: Apache-2.0
//
// Gathers tensors by role and computes the loss scales of gradients. Summaries are integers, so
// what is merged is as exact as what was read.
#include "lib/report/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "lib/text/error.h"

namespace binade {
namespace {

bool tells_gradient(const NamedTensor& tensor) { return tensor.role && is_gradient(*tensor.role); }

/// Returns the formats that scales are computed for, the first of them format_of_scale().
std::vector<NamedFormat> formats_of_scales(const ReportOptions& options) {
  if (options.scale_format || options.formats.empty()) return {format_of_scale(options)};
  return options.formats;
}

bool is_bound(const NamedTensor& tensor) { return tells_gradient(tensor) && tensor.binds_scale; }

/// Returns a text such as "step 3", "steps 3, 4, 7" or "30 steps from 3 to 4399".
std::string steps_words(const std::vector<std::uint64_t>& steps) {
  constexpr std::size_t most = 8;
  if (steps.size() > most) {
    return fmt::format("{} steps from {} to {}", steps.size(), steps.front(), steps.back());
  }
  return fmt::format("step{} {}", steps.size() == 1 ? "" : "s", fmt::join(steps, ", "));
}

/// Returns the numbers of tensors that are no gradients, by role: "4 weight, 4 act".
std::string counted_roles(const std::vector<RoleReport>& roles) {
  std::vector<std::string> words;
  for (const auto& [tensors, all] : roles) {
    const bool gradient = all.role && is_gradient(*all.role);
    if (!gradient) words.push_back(fmt::format("{} {}", tensors, all.name));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Names the first of the files whose names say that they hold gradients, and how many others there
/// are; empty if there are none.
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

LossScale no_scale(const NamedFormat& format, const char* status, std::string reason) {
  LossScale out;
  out.format = format.name;
  out.status = status;
  out.reason = std::move(reason);
  return out;
}

}  // namespace

RoleSums::RoleSums(const ReportOptions& options, const std::vector<ErrorColumn>& columns,
                   std::span<const NamedTensor> named)
    : options_(options), columns_(columns), named_(named), scaled_(columns) {
  any_gradient_ = std::ranges::any_of(named, tells_gradient);
  for (const NamedTensor& tensor : named) {
    if (is_bound(tensor) && tensor.time) ++gradients_left_[tensor.time->step];
  }
}

void RoleSums::add(const TensorReport& tensor, std::size_t place) {
  const std::size_t role =
      tensor.role ? static_cast<std::size_t>(*tensor.role) : tensor_role_names.size();
  Role& of_role = roles_.try_emplace(role, Role{0, empty_summary(columns_)}).first->second;
  ++of_role.tensors;
  merge(of_role.sum, tensor.summary);
  const bool gradient = tells_gradient(named_[place]);
  if (gradient) {
    if (is_bound(named_[place])) add_gradient(tensor, place);
  } else if (!any_gradient_) {
    scaled_.add(tensor, place);
  }
  const bool looked_at = any_gradient_ ? gradient && !tensor.time : true;
  if (looked_at && tensor.summary.nan + tensor.summary.inf > 0) {
    if (not_finite_++ == 0) first_not_finite_ = tensor.name;
  }
}

void RoleSums::add_gradient(const TensorReport& tensor, std::size_t place) {
  if (!tensor.time) {
    scaled_.add(tensor, place);
    return;
  }
  const std::uint64_t step = tensor.time->step;
  const auto of_step = unsettled_.try_emplace(step, columns_).first;
  of_step->second.add(tensor, place);
  if (--gradients_left_.at(step) > 0) return;
  settle(step, std::move(of_step->second));
  unsettled_.erase(of_step);
}

/// A step with NaN or Inf has no loss scale, because the largest value that it should have had is
/// unknown.
void RoleSums::settle(std::uint64_t step, JointScale gradients) {
  if (gradients.total().nan + gradients.total().inf > 0) {
    passed_over_.insert(std::ranges::lower_bound(passed_over_, step), step);
    for (const NamedFormat& format : formats_of_scales(options_)) {
      step_scales_[step].push_back(
          no_scale(format, "not finite", "the step's gradients hold NaN or Inf"));
    }
    return;
  }
  // In a run, no two files hold a tensor of the same name, so names need no file beside them.
  for (const NamedFormat& format : formats_of_scales(options_)) {
    step_scales_[step].push_back(gradients.scale(
        options_, [](const JointScale::End&) { return false; }, format));
  }
  scaled_.add(std::move(gradients));
}

std::vector<StepScale> RoleSums::step_scales() const {
  std::vector<StepScale> out;
  for (const auto& [step, scales] : step_scales_) {
    out.push_back({.step = step, .scale = scales.front(), .in_formats = scales});
  }
  return out;
}

bool RoleSums::is_scaled(const NamedTensor& tensor) const {
  if (!any_gradient_) return true;
  return is_bound(tensor) &&
         !(tensor.time && std::ranges::binary_search(passed_over_, tensor.time->step));
}

std::size_t RoleSums::scaled_tensors() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(named_, [this](auto& tensor) { return is_scaled(tensor); }));
}

/// Returns whether no name tells a gradient, and some tell what else their tensors are.
bool RoleSums::tells_others() const {
  return !any_gradient_ &&
         std::ranges::any_of(named_, [](const NamedTensor& t) { return t.role.has_value(); });
}

LossScale RoleSums::loss_scale(const NamedFormat& format) const {
  if (tells_others()) {
    return no_scale(format, "no gradients",
                    "No name tells a gradient, and a loss scale multiplies nothing else.");
  }
  const auto shares_name = [this](const JointScale::End& end) {
    return std::ranges::any_of(named_, [&](const NamedTensor& other) {
      return other.place.info().name == end.name && other.place.file->path() != end.file &&
             is_scaled(other);
    });
  };
  LossScale out = scaled_.scale(options_, shares_name, format);
  if (!passed_over_.empty()) tell_passed_over(out);
  std::vector<int> largest_scales;
  for (const auto& [step, scales] : step_scales_) {
    const auto of_step = std::ranges::find(scales, format.name, &LossScale::format);
    if (of_step != scales.end() && of_step->interval)
      largest_scales.push_back(of_step->interval->max_log2);
  }
  take_margin(out, std::move(largest_scales), scaled_.total(), options_);
  return out;
}

/// Says in a scale's reason which steps it passes over.
void RoleSums::tell_passed_over(LossScale& out) const {
  const std::string words = steps_words(passed_over_);
  if (scaled_tensors() == 0) {
    out.status = "not finite";
    out.reason =
        fmt::format("Gradients hold NaN or Inf in every step ({}): no scale can be told.", words);
    return;
  }
  if (!out.reason.ends_with('.')) out.reason += ".";
  out.reason += fmt::format(" Passed over, because {} gradients hold NaN or Inf: {}.",
                            passed_over_.size() == 1 ? "its" : "their", words);
}

/// Returns the reports of the roles if there are several, else none.
std::vector<RoleReport> RoleSums::by_role() const {
  std::vector<RoleReport> out;
  if (roles_.size() < 2) return out;
  for (const auto& [place, of] : roles_) {
    RoleReport& role = out.emplace_back();
    role.tensors = of.tensors;
    if (place < tensor_role_names.size()) role.all.role = static_cast<TensorRole>(place);
    role.all.name = std::string(tensor_role_name(role.all.role));
    role.all.summary = of.sum;
    analyse(role.all, options_);
  }
  return out;
}

/// Says how many tensors hold NaN or Inf, which the scale leaves out. Gradients of steps are not
/// counted here.
std::string RoleSums::not_finite_words() const {
  if (not_finite_ == 0) return "";
  return fmt::format("NaN and Inf are left out: {} of the tensors hold{} some, first {}.",
                     not_finite_, not_finite_ == 1 ? "s" : "", printable(first_not_finite_, 60));
}

/// Says which tensors the loss scale was computed from, if names leave that open.
std::string RoleSums::basis(const std::vector<RoleReport>& roles, std::size_t scaled) const {
  constexpr const char* how = "--role grad=REGEX tells which are (binade report --help).";
  const std::size_t tensors = named_.size();
  const bool others =
      std::ranges::any_of(named_, [](const NamedTensor& t) { return !t.role && !t.by_rule; });
  std::vector<std::string> words;
  const std::string files = files_of_gradients(named_);
  if (!files.empty()) {
    words.push_back(fmt::format(
        "Gradients by the name of the file ({}); --role weight=REGEX tells what is none.", files));
  }
  if (any_gradient_ && !roles.empty()) {
    const std::string left = counted_roles(roles);
    if (!left.empty()) {
      words.push_back(fmt::format(
          "Taken from {} gradient{}. Left out: {}; {}", scaled, scaled == 1 ? "" : "s", left,
          others ? fmt::format("if there are gradients among the others, {}", how)
                 : "no loss scale multiplies them."));
    }
  }
  const auto unbound = static_cast<std::size_t>(std::ranges::count_if(
      named_, [](const NamedTensor& t) { return tells_gradient(t) && !t.binds_scale; }));
  if (unbound > 0) {
    const auto first = std::ranges::find(named_, false, &NamedTensor::binds_scale);
    words.push_back(
        fmt::format("{} gradient{} of what a narrow format never holds, or of rounding alone "
                    "(first {}) bind{} no scale.",
                    unbound, unbound == 1 ? "" : "s", printable(first->place.info().name, 60),
                    unbound == 1 ? "s" : ""));
  }
  if (!any_gradient_) {
    std::string told;
    if (!roles.empty()) {
      told = fmt::format(" ({})", counted_roles(roles));
    } else if (!others) {
      const bool by_rule = std::ranges::all_of(named_, &NamedTensor::by_rule);
      told = fmt::format(" ({} {})", by_rule ? "by --role" : "named",
                         tensor_role_name(named_[0].role));
    }
    const std::string taken =
        tells_others()
            ? fmt::format("{}{} no gradient{}.",
                          tensors == 1 ? "the tensor" : fmt::format("the {} tensors", tensors),
                          told + (tensors == 1 ? " is" : " are"), tensors == 1 ? "" : "s")
        : tensors == 1 ? fmt::format("the tensor{} is taken as one.", told)
                       : fmt::format("the {} tensors{} are taken as gradients.", tensors, told);
    words.push_back(fmt::format("No name tells a gradient: {} {}", taken, how));
  }
  words.push_back(not_finite_words());
  std::erase(words, "");
  return fmt::format("{}", fmt::join(words, " "));
}

void RoleSums::finish(Report& report) const {
  report.total.summary = empty_summary(columns_);
  for (const auto& [place, of] : roles_) merge(report.total.summary, of.sum);
  analyse(report.total, options_);
  for (const NamedFormat& format : formats_of_scales(options_))
    report.loss_scales.push_back(loss_scale(format));
  report.loss_scale = report.loss_scales.front();
  if (any_gradient_) {
    report.passed_over = passed_over_;
    TensorReport& all = report.gradients.emplace();
    all.name = "gradients";
    all.summary = scaled_.total();
    analyse(all, options_);
  }
  report.roles = by_role();
  report.scaled_tensors = tells_others() ? 0 : scaled_tensors();
  report.loss_scale.basis = basis(report.roles, report.scaled_tensors);
  for (LossScale& scale : report.loss_scales) scale.basis = report.loss_scale.basis;
}

}  // namespace binade
