// SPDX-License-Identifier: Apache-2.0
//
// The report as text for a terminal: an answer, a histogram, and a table per question.
#pragma once

#include <string>

#include "lib/report/report.h"

namespace binade {

struct TextStyle {
  bool color = false;        ///< ANSI colours by fate
  std::size_t tensors = 20;  ///< rows of the tensor table; the others are only counted
};

/// Returns the whole text, which ends with a newline.
std::string report_text(const Report& report, const TextStyle& style);

}  // namespace binade
