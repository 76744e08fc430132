// SPDX-License-Identifier: Apache-2.0
//
// Results as one page that draws its plots and explains how to read them: no external request.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace binade {

/// `results` is the JSON of experiments, or {"title": …, "binade": …, "results": [{"experiment": …,
/// "tables": […], "plots": […]}]}: question, hypothesis, status, verdict, text are shown where given.
std::string results_html(const nlohmann::ordered_json& results);

}  // namespace binade
