// SPDX-License-Identifier: Apache-2.0
//
// The question and the answer of `binade advise`: the memory that a training needs, and how well
// the sizes of layers fit an instruction.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace binade {

/// The command line's options as the user typed them; an empty one was not given. The texts that
/// stand here are the options' defaults.
struct AdviseWords {
  std::string model = {}, params = {}, optimizer = "adamw", activations = {}, batch = {},
              memory = {};
  std::string architecture = "sm_90", format = "binary16";
  std::vector<std::string> linear = {}, conv = {};
  nlohmann::ordered_json layers = {};  ///< the JSON of advise_model.h; null: none
  bool fp32_moments = false;
};

struct AdviseAnswer {
  std::string text;
  nlohmann::ordered_json json;
};

/// Answers. Throws Error if an option has an invalid value, the file of layers cannot be read, the
/// architecture has no dense instruction for the format of layers, or the training takes 2^63 bytes
/// or more.
AdviseAnswer advise_answer(const AdviseWords& words);

}  // namespace binade
