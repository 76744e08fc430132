// SPDX-License-Identifier: Apache-2.0
//
// What the roles of a report's tensors decide: which of them the loss scale is for, and what is told of the rest.
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

/// Tensors gathered by role, and gradients by step. Steps need not come in order; one is settled with its last gradient.
class RoleSums {
 public:
  /// `named`: all tensors that will come; it outlives this.
  RoleSums(const ReportOptions& options, const std::vector<ErrorColumn>& columns,
           std::span<const NamedTensor> named);

  /// `place`: of the tensor in `named`.
  void add(const TensorReport& tensor, std::size_t place);

  /// Fills gradients, passed_over, roles and the loss scale, which is that of the gradients where names tell any.
  void finish(Report& report) const;

  /// Of the steps with gradients, rising.
  std::vector<StepScale> step_scales() const;

 private:
  struct Role {
    std::size_t tensors = 0;
    RangeSummary sum;
  };

  bool is_scaled(const NamedTensor& tensor) const;
  void add_gradient(const TensorReport& tensor, std::size_t place);
  void settle(std::uint64_t step, JointScale gradients);
  LossScale loss_scale() const;
  std::vector<RoleReport> by_role() const;
  std::string not_finite_words() const;
  std::size_t scaled_tensors() const;
  std::string basis(const std::vector<RoleReport>& roles, std::size_t scaled) const;

  const ReportOptions& options_;
  const std::vector<ErrorColumn>& columns_;
  std::span<const NamedTensor> named_;
  bool any_gradient_ = false;
  std::map<std::uint64_t, std::size_t> gradients_left_;  ///< by step
  std::map<std::uint64_t, JointScale> unsettled_;
  std::map<std::uint64_t, LossScale> step_scales_;
  std::vector<std::uint64_t> passed_over_;  ///< rising
  JointScale scaled_;                  ///< gradients of the other steps and of none; or all tensors
  std::map<std::size_t, Role> roles_;  ///< other last
  std::size_t not_finite_ = 0;         ///< tensors with NaN or Inf that the scale does not look at
  std::string first_not_finite_;
};

}  // namespace binade
