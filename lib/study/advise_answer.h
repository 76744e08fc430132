// SPDX-License-Identifier: Apache-2.0
//
// What `binade advise` is asked and what it answers.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace binade {

/// What the user typed; empty: not given.
struct AdviseWords {
  std::string model = {}, params = {}, optimizer = "adamw", activations = {}, batch = {},
              memory = {};
  std::string architecture = "sm_90", format = "binary16";
  std::vector<std::string> linear = {}, conv = {};
  nlohmann::ordered_json layers = {};  ///< as in the file that `model` names; null: none
  bool fp32_moments = false;
};

struct AdviseAnswer {
  std::string text;
  nlohmann::ordered_json json;
};

AdviseAnswer advise_answer(const AdviseWords& words);

}  // namespace binade
