// SPDX-License-Identifier: Apache-2.0
//
// What a report says about a tensor, or about several that are merged: its values, what they become
// in each format, and at which scales a format holds them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/format_report.h"

namespace binade {

struct TensorReport {
  std::string name;
  std::string file;                     ///< empty for merged tensors
  std::optional<TensorRole> role = {};  ///< if a name, --role or a counted run says one
  std::optional<TensorTime> time = {};  ///< if a name or a counted run says a step
  std::string dtype;                    ///< empty if merged tensors differ
  std::optional<std::vector<std::uint64_t>> shape = {};  ///< nothing if merged tensors differ
  RangeSummary summary;
  Norms norms = {};    ///< of the finite values
  std::string status;  ///< "ok", "empty", "all zero", "no finite value"
  std::vector<FormatReport> formats;
  LossScale loss_scale;         ///< for format_of_scale()
  std::optional<int> tie = {};  ///< highest_tie() for the target loss: its lower end in any format
  /// The narrowest of e4m3, e5m2, binary16 and bfloat16 that holds the values at some scale, within
  /// the target loss and headroom of the options; empty if none does or if there is no finite
  /// non-zero value.
  std::string advice_format;
  std::optional<ScaleInterval> advice_interval;  ///< the scales for advice_format
  std::string advice;                            ///< in words: these formats and their scales
  bool at_floor = false;  ///< lies_at_floor() (held_floor.h), of a gradient that binds a loss scale
};

/// Fills everything but name, file, role, time, dtype, shape and at_floor from the summary. Throws
/// Error if the summary lacks one of error_columns(options).
void analyse(TensorReport& tensor, const ReportOptions& options);
/// The two steps of analyse(), for tensors of which nobody reads the words: all but
/// loss_scale.reason and advice, then these, from the figures.
void fill_figures(TensorReport& tensor, const ReportOptions& options);
void fill_words(TensorReport& tensor, const ReportOptions& options);

/// Returns a count of some of the summary's values with its shares of all values and of the finite
/// non-zero ones.
Share share(std::uint64_t count, const RangeSummary& summary);

/// A FormatReport reduced to four numbers, for code that keeps very many of them.
struct FormatFigures {
  std::uint64_t to_zero = 0, subnormal = 0, overflow = 0;
  double lost = 0;  ///< lost_l2; 0 also if there is no finite non-zero value
};
FormatFigures figures_of(const FormatReport& in_format);
/// Returns the figures of an analysed tensor in a format, also if it is not among the options'
/// formats.
FormatFigures figures_in(const TensorReport& tensor, const NamedFormat& format);

}  // namespace binade
