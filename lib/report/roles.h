// SPDX-License-Identifier: Apache-2.0
//
// What follows from the roles of a report's tensors: which of them the loss scale is for, and what
// is said about the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/report/named_tensors.h"
#include "lib/report/report.h"

namespace binade {

/// Gathers tensors by role, and gradients by step. Steps may come in any order; a step's scale is
/// computed when its last gradient was added.
class RoleSums {
 public:
  /// `named` are all tensors that will be added. The arguments must outlive this object.
  RoleSums(const ReportOptions& options, const std::vector<ErrorColumn>& columns,
           std::span<const NamedTensor> named);

  /// Adds a tensor; `place` is its index in `named`.
  void add(const TensorReport& tensor, std::size_t place);

  /// Fills total, gradients, passed_over, roles, scaled_tensors and the loss scales, which are
  /// those of the gradients if it is known which they are.
  void finish(Report& report) const;

  /// Returns the scales of the steps with gradients, by rising step, for format_of_scale().
  std::vector<StepScale> step_scales() const;

 private:
  struct Role {
    std::size_t tensors = 0;
    RangeSummary sum;
  };

  bool is_scaled(const NamedTensor& tensor) const;
  void add_gradient(const TensorReport& tensor, std::size_t place);
  void settle(std::uint64_t step, JointScale gradients);
  LossScale loss_scale(const NamedFormat& format) const;
  bool tells_others() const;
  void tell_passed_over(LossScale& out) const;
  std::vector<RoleReport> by_role() const;
  std::string not_finite_words() const;
  std::size_t scaled_tensors() const;
  std::string basis(const std::vector<RoleReport>& roles, std::size_t scaled) const;

  const ReportOptions& options_;
  const std::vector<ErrorColumn>& columns_;
  std::span<const NamedTensor> named_;
  bool any_gradient_ = false;
  std::map<std::uint64_t, std::size_t> gradients_left_;  ///< number of gradients to come, by step
  std::map<std::uint64_t, JointScale> unsettled_;
  /// By step, one for each of formats_of_scales().
  std::map<std::uint64_t, std::vector<LossScale>> step_scales_;
  std::vector<std::uint64_t> passed_over_;  ///< rising
  /// The gradients of the steps that are not passed over and of no step; or, if there are no
  /// gradients, all tensors.
  JointScale scaled_;
  std::map<std::size_t, Role> roles_;  ///< by index of the role; "other" is last
  /// The number of tensors with NaN or Inf, which the scale leaves out, among the gradients of no
  /// step; or, if there are no gradients, among all tensors.
  std::size_t not_finite_ = 0;
  std::string first_not_finite_;
};

}  // namespace binade
