// SPDX-License-Identifier: Apache-2.0
//
// Results as one HTML page that draws its plots and explains how to read them. The page makes no
// external request.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// Returns the page. `results` is the JSON of experiments (experiment_run.h), or {"title": …,
/// "binade": …, "results": [{"experiment": …, "tables": […], "plots": […]}]}; question, hypothesis,
/// status, verdict and text of a result are shown if it has them.
std::string results_html(const nlohmann::ordered_json& results);

}  // namespace binade
