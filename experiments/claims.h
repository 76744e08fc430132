// SPDX-License-Identifier: Apache-2.0
//
// What is often said of mixed precision, as rows: the saying, what is wrong with it, what is true instead, and a
// check that measures both. The rows lie in files by subject.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lib/study/experiment.h"

namespace binade {

class Trainings;

struct Measured {
  bool fails = false;  ///< the claim, read as it is said
  bool holds = false;  ///< the correct statement
  std::string words;   ///< the figures, shortly
  nlohmann::ordered_json figures;
};

/// What a check may use.
struct ClaimInput {
  bool quick = false;
  Trainings& trainings;
};

struct Claim {
  std::string_view id, said, verdict, correct;
  Measured (*check)(const ClaimInput& input);  ///< none: nothing here can tell
  std::size_t trainings = 0;                   ///< calls of Trainings::run by the check
  std::string_view not_measured = {};          ///< why there is no check
};

std::span<const Claim> claims_of_numbers();
std::span<const Claim> claims_of_autocast();
std::span<const Claim> claims_of_training();
std::span<const Claim> claims_of_resources();

}  // namespace binade
