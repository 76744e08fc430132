// SPDX-License-Identifier: Apache-2.0
//
// What an experiment is: a question, what was expected, and a function that measures and answers.
// The list is declared here and defined in experiments/, joined by the linker.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace binade {

struct ExperimentInput {
  bool quick = false;                             ///< a smaller run that answers the same question
  std::string data_folder;                        ///< where the committed data lie
  std::function<void(const std::string&)> print;  ///< text for the reader, as it comes
};

/// Whether what was measured is what was expected, and the figures.
struct Outcome {
  bool as_expected = false;
  std::string verdict;          ///< one sentence
  nlohmann::ordered_json data;  ///< every figure that the text shows
};

struct Experiment {
  const char* name;
  const char* question;
  const char* hypothesis;  ///< what literature or reasoning says before the run
  Outcome (*run)(const ExperimentInput& input);
};

/// All experiments, in the order in which they are best read.
std::span<const Experiment> experiments();

}  // namespace binade
