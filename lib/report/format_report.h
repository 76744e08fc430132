// SPDX-License-Identifier: Apache-2.0
//
// What a report says about any set of values, be it of a tensor, of a whole report or of a step of
// a training: what the values become in each format, and which loss scale keeps them in range. A new
// figure of a format is a member of FormatReport, which tensor_report.cpp computes; json.cpp, csv.cpp,
// text.cpp and the page (page_data.cpp, page/table_columns.js) show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/range/fate.h"
#include "lib/report/tensor_role.h"

namespace binade {

/// Which end of the interval of loss scales is recommended, the largest scale or the smallest.
enum class ScaleChoice : std::uint8_t { s_max, s_min };

/// The most binades that can be kept free below overflow.
inline constexpr int most_headroom = 100;

struct ReportOptions {
  int headroom = 1;           ///< binades kept free below overflow when a scale is chosen, 0 to 100
  double target_loss = 1e-3;  ///< largest acceptable lost_l2, in [0, 1)
  /// Smallest acceptable SQNR in decibels, from 0 to 300, of what is computed anew in each step, and of weights and
  /// states, which are kept (verdict.h). A relative error of 2^-4 at most, e4m3's, gives 31 dB, and 2^-3 gives 25 dB.
  double target_sqnr = 20, target_weight_sqnr = 30;
  ScaleChoice prefer = ScaleChoice::s_max;
  std::vector<NamedFormat> formats{report_formats.begin(), report_formats.end()};
  std::vector<int> scales_log2{0};   ///< scales at which squared errors are summed
  std::optional<Dtype> dtype = {};   ///< what raw arrays hold (OpenOptions)
  std::vector<RoleRule> roles = {};  ///< applied before the words in names
};

/// Returns the columns that summaries need for the SQNR of each format at each scale.
std::vector<ErrorColumn> error_columns(const ReportOptions& options);

/// What messages call the members of ReportOptions.
struct ReportOptionNames {
  const char* target_loss = "target_loss";
  const char* target_sqnr = "target_sqnr";
  const char* target_weight_sqnr = "target_weight_sqnr";
  const char* headroom = "headroom";
  const char* scales = "scales_log2";
};
/// Throws Error if a member is outside of its range, if scales times formats are more than max_error_columns, if a format is
/// not a row of report_formats or there is none, or if check_rules() refuses the rules.
void check(const ReportOptions& options, const ReportOptionNames& names = {});

/// A count of values, and the shares that it is: of all values, and of the finite non-zero ones. A
/// share of no values is 0.
struct Share {
  std::uint64_t count = 0;
  double of_values = 0;
  double of_nonzero = 0;
};

/// What the values become in one format at scale 1. `lost` and `headroom` are empty if there is no
/// finite non-zero value, and so is each sqnr_db. The last two members are set for binary16 alone,
/// and always there.
struct FormatReport {
  std::string name;
  Share to_zero, subnormal, overflow;
  std::optional<Losses> lost;  ///< shares of the norms that are lost
  /// For each of options.scales_log2; one is also empty if no value has an error there.
  std::vector<std::optional<double>> sqnr_db;
  /// How many times the largest magnitude can be doubled without overflow; negative if it
  /// overflows.
  std::optional<int> headroom;
  std::optional<Share> band_27_24;  ///< 2^-27 <= |x| < 2^-24
  std::optional<Share> rne_zero;    ///< 0 < |x| <= 2^-25, the same as to_zero
};

/// The recommended loss scale for binary16, and the reasons for it.
struct LossScale {
  /// "ok", "empty interval", "no finite value", or "not finite" (a step whose gradients hold NaN or
  /// Inf).
  std::string status;
  /// The scales at which binary16 holds the values (range/fate.h); absent if there is no finite
  /// non-zero value or the step is not finite.
  std::optional<ScaleInterval> interval;
  /// Absent where the interval is, and if values overflow at every scale.
  std::optional<int> recommended_log2;
  std::optional<double> lost_l2;  ///< at the recommended scale
  /// The tensors that set the ends of the interval (only for the joint scale of several tensors).
  std::string binding_min, binding_max;
  /// The indices of these tensors in the order of the report.
  std::optional<std::size_t> place_min, place_max;
  std::string reason;
  /// For the scale of a report: from which tensors it was computed, if names leave that open; else
  /// empty.
  std::string basis = {};
};

}  // namespace binade
