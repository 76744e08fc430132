// SPDX-License-Identifier: Apache-2.0
//
// Claims that are often made about mixed precision, as tables of rows: the claim, what is wrong
// with it, what is true instead, and a check that measures both. There is one file of rows per
// subject.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lib/runs/experiment.h"

namespace binade {

class Trainings;

/// What a check found.
struct Measured {
  bool fails = false;              ///< the claim, taken literally, is false
  bool holds = false;              ///< the correct statement is true
  std::string words;               ///< the measured figures in a few words
  nlohmann::ordered_json figures;  ///< the same figures as JSON
};

/// What a check may use.
struct ClaimInput {
  bool quick = false;
  Trainings& trainings;
};

/// A row: a short name, the claim as people state it, in which way it is wrong ("wrong", "loose",
/// …), and the statement that is true instead.
struct Claim {
  std::string_view id, said, verdict, correct;
  Measured (*check)(const ClaimInput& input);  ///< null: this project cannot measure the claim
  std::size_t trainings = 0;                   ///< how many trainings the check runs
  std::string_view not_measured = {};          ///< why there is no check
};

std::span<const Claim> claims_of_numbers();
std::span<const Claim> claims_of_autocast();
std::span<const Claim> claims_of_training();
std::span<const Claim> claims_of_resources();

}  // namespace binade
