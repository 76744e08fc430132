// SPDX-License-Identifier: Apache-2.0
//
// What is said of any set of values: what they become in each format, and which loss scale serves
// them. Tensors, whole reports and steps of a training run have it in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/range/fate.h"
#include "lib/report/tensor_role.h"

namespace binade {

enum class ScaleChoice : std::uint8_t { s_max, s_min };

/// Binades that can be kept free.
inline constexpr int most_headroom = 100;

struct ReportOptions {
  int headroom = 1;           ///< binades kept free below overflow when a scale is chosen
  double target_loss = 1e-3;  ///< largest acceptable lost_l2, in [0, 1)
  ScaleChoice prefer = ScaleChoice::s_max;
  std::vector<NamedFormat> formats{report_formats.begin(), report_formats.end()};
  std::vector<int> scales_log2{0};   ///< scales at which squared errors are summed
  std::optional<Dtype> dtype = {};   ///< what raw arrays hold (OpenOptions)
  std::vector<RoleRule> roles = {};  ///< before what names tell by themselves
};

/// A count and its two denominators: all values, and the finite non-zero ones.
struct Share {
  std::uint64_t count = 0;
  double of_values = 0;
  double of_nonzero = 0;
};

/// What the values become in one format at scale 1.
struct FormatReport {
  std::string name;
  Share to_zero, subnormal, overflow;
  std::optional<Losses> lost;                  ///< nothing without a finite non-zero value
  std::vector<std::optional<double>> sqnr_db;  ///< per options.scales_log2; nothing: no error
  std::optional<int> headroom;                 ///< binades between the largest value and overflow
  std::optional<Share> band_27_24;             ///< binary16 only: 2^-27 <= |x| < 2^-24
  std::optional<Share> rne_zero;               ///< binary16 only: 0 < |x| <= 2^-25
};

/// The loss scale for binary16 and why.
struct LossScale {
  /// "ok", "empty interval", "no finite value", "not finite" (a step whose gradients hold NaN or Inf)
  std::string status;
  std::optional<ScaleInterval>
      interval;  ///< absent: no finite non-zero value, or a step not finite
  std::optional<int> recommended_log2;
  std::optional<double> lost_l2;         ///< at the recommended scale
  std::string binding_min, binding_max;  ///< tensors that set the ends (joint scale only)
  std::optional<std::size_t> place_min, place_max;  ///< theirs, in the report's order
  std::string reason;
  std::string basis = {};  ///< of a report's: what it was taken from, where names leave that open
};

}  // namespace binade
