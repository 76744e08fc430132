// SPDX-License-Identifier: Apache-2.0
//
// What a report says about any set of values, be it of a tensor, of a whole report or of a step of
// a training: what the values become in each format, and which loss scale keeps them in range.
// figure_table.h has the figures of a format that reports tell.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/range/fate.h"
#include "lib/report/tensor_role.h"

namespace binade {

/// Which loss scale of the interval is recommended: the largest, the smallest, or the largest less
/// a margin, which is as many binades as the run's largest gradients lie above those of its usual
/// step.
enum class ScaleChoice : std::uint8_t { s_max, s_min, margin };

inline constexpr std::array<const char*, 3> scale_choice_names{"s_max", "s_min", "margin"};
/// Returns the choice of a name. Throws Error, which calls it `option`, for others.
ScaleChoice scale_choice(const char* option, const std::string& name);

/// The formats that advice chooses from, the narrowest first; of two with 8 bits the more precise
/// one.
inline constexpr std::array<NamedFormat, 4> narrow_formats{{{"e4m3", e4m3, ""},
                                                            {"e5m2", e5m2, ""},
                                                            {"binary16", binary16, ""},
                                                            {"bfloat16", bfloat16, ""}}};

/// The most binades that can be kept free below overflow.
inline constexpr int most_headroom = 100;

struct ReportOptions {
  int headroom = 1;           ///< binades kept free below overflow when a scale is chosen, 0 to 100
  double target_loss = 1e-3;  ///< largest acceptable lost_l2, in [0, 1)
  /// Smallest acceptable SQNR in decibels, from 0 to 300, of what is computed anew in each step,
  /// and of weights and states, which are kept (verdict.h). A relative error of 2^-4 at most,
  /// e4m3's, gives 31 dB, and 2^-3 gives 25 dB.
  double target_sqnr = 20, target_weight_sqnr = 30;
  ScaleChoice prefer = ScaleChoice::margin;
  std::vector<NamedFormat> formats{report_formats.begin(), report_formats.end()};
  std::vector<int> scales_log2{0};   ///< scales at which squared errors are summed
  std::optional<Dtype> dtype = {};   ///< what raw arrays hold (OpenOptions)
  std::vector<RoleRule> roles = {};  ///< applied before the words in names
  /// The format that loss scales are for; the first of `formats` (binary16 if there is none) if it
  /// is not set.
  std::optional<NamedFormat> scale_format = {};
};

/// Returns the format that a report's loss scales are for.
NamedFormat format_of_scale(const ReportOptions& options);

/// Returns whether tensors are kept in the format with a scale of each one's own, as those of FP8
/// are, so that one loss scale for all of them is not what one needs.
bool has_own_scales(const Format& format);

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
/// Throws Error if a member is outside of its range, if scales times formats are more than
/// max_error_columns, if a format is not a row of report_formats or there is none, or if
/// check_rules() refuses the rules.
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

/// How near to overflow the steps of a run come at a loss scale: by how many binades their largest
/// gradients could grow.
struct Nearness {
  std::size_t steps = 0;    ///< with finite gradients that are not all zero
  std::size_t nearest = 0;  ///< as near as the nearest
  int usual = 0;            ///< binades left free in the usual step, the median
};

/// Gradients of weights that are so small a part of all of them that rounding alone may have left
/// them of what is zero: no scale is asked for to save them.
struct Negligible {
  std::size_t tensors = 0;
  std::string first;
  double share = 0;  ///< the largest of their shares of the L2 norm of all gradients of weights
};

/// Gradients so near the smallest subnormal of what a run held them in that what was smaller, and
/// is zero, may matter (held_floor.h).
struct AtFloor {
  std::size_t tensors = 0;
  std::string first;
};

/// The recommended loss scale for a format, and the reasons for it.
struct LossScale {
  std::string format = {};  ///< name
  /// "ok", "empty interval", "no finite value", "not finite" (a step whose gradients hold NaN or
  /// Inf), or "no gradients" (names tell weights and others, and no gradient).
  std::string status;
  /// The scales at which the format holds the values (range/fate.h); absent if there is no finite
  /// non-zero value or the step is not finite.
  std::optional<ScaleInterval> interval;
  /// Absent where the interval is, and if values overflow at every scale.
  std::optional<int> recommended_log2;
  std::optional<double> lost_l2;  ///< at the recommended scale
  /// By how many binades the largest value may grow at the recommended scale before it overflows.
  std::optional<int> free_binades = {};
  std::optional<Nearness> over_run = {};  ///< for the joint scale of a run of two steps or more
  /// The tensors that set the ends of the interval (only for the joint scale of several tensors).
  std::string binding_min, binding_max;
  /// The indices of these tensors in the order of the report.
  std::optional<std::size_t> place_min, place_max;
  std::string reason;
  /// For the scale of a report: from which tensors it was computed, if names leave that open; else
  /// empty.
  std::string basis = {};
  Negligible negligible = {};  ///< only of several tensors
  /// Only of several tensors. If there are any, the lower end of the interval is that of what is
  /// left of them.
  AtFloor at_floor = {};
  /// Of several tensors: how many of them have a scale of their own that serves, and how many
  /// values that are finite and not zero.
  std::size_t served = 0, scaled = 0;
};

}  // namespace binade
