// SPDX-License-Identifier: Apache-2.0
//
// What is said of a tensor, or of several that are merged: its values, what they become in each format, and which
// scales serve them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/format_report.h"

namespace binade {

struct TensorReport {
  std::string name;
  std::string file;
  std::optional<TensorRole> role = {};  ///< of a name that says it
  std::optional<TensorTime> time = {};  ///< likewise
  std::string dtype;
  std::optional<std::vector<std::uint64_t>> shape = {};  ///< nothing: of several that differ
  RangeSummary summary;
  std::string status;  ///< "ok", "empty", "all zero", "no finite value"
  std::vector<FormatReport> formats;
  LossScale loss_scale;
  std::string advice_format;  ///< narrowest format whose range serves; empty: none does
  std::optional<ScaleInterval> advice_interval;  ///< its own scales
  std::string advice;
};

/// Fills everything but name, file, role, time, dtype and shape from the summary.
void analyse(TensorReport& tensor, const ReportOptions& options);

/// A count of values, with its denominators.
Share share(std::uint64_t count, const RangeSummary& summary);

/// The counts of a FormatReport, for who holds very many.
struct FormatFigures {
  std::uint64_t to_zero = 0, subnormal = 0, overflow = 0;
  double lost = 0;  ///< lost_l2; 0 also where there is no finite non-zero value
};
FormatFigures figures_of(const FormatReport& in_format);
/// Of an analysed tensor, whether the options' formats have binary16 or not.
FormatFigures figures_in_binary16(const TensorReport& tensor);

}  // namespace binade
