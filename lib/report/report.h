// SPDX-License-Identifier: Apache-2.0
//
// The gradient-range report as a struct: what was read, what each tensor's values become in each
// format, and which loss scale serves them. Writers (text, JSON, HTML) only show it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/range/fate.h"
#include "lib/tensor/dtype.h"

namespace binade {

enum class ScaleChoice : std::uint8_t { s_max, s_min };

struct ReportOptions {
  int headroom = 1;           ///< binades kept free below overflow when a scale is chosen
  double target_loss = 1e-3;  ///< largest acceptable lost_l2, in [0, 1)
  ScaleChoice prefer = ScaleChoice::s_max;
  std::vector<NamedFormat> formats{report_formats.begin(), report_formats.end()};
  std::vector<int> scales_log2{0};  ///< scales at which squared errors are summed
  std::optional<Dtype> dtype = {};  ///< what raw arrays hold (OpenOptions)
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
  std::string status;                     ///< "ok", "empty interval", "no finite value"
  std::optional<ScaleInterval> interval;  ///< absent: no finite non-zero value
  std::optional<int> recommended_log2;
  std::optional<double> lost_l2;         ///< at the recommended scale
  std::string binding_min, binding_max;  ///< tensors that set the ends (joint scale only)
  std::string reason;
};

struct TensorReport {
  std::string name;
  std::string file;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  RangeSummary summary;
  std::string status;  ///< "ok", "empty", "all zero", "no finite value"
  std::vector<FormatReport> formats;
  LossScale loss_scale;
  std::string advice_format;  ///< narrowest format whose range serves; empty: none does
  std::optional<ScaleInterval> advice_interval;  ///< its own scales
  std::string advice;
};

struct SkippedTensor {
  std::string file, name, dtype;
  std::vector<std::uint64_t> shape;
  std::string reason;
};

struct Report {
  ReportOptions options;
  std::vector<std::string> files;
  std::vector<SkippedTensor> skipped;
  TensorReport total;
  std::vector<TensorReport> tensors;
  LossScale loss_scale;  ///< one scale for all tensors
};

/// Told after each chunk: bytes done and bytes in all.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Reads every floating tensor of the files once. Error on bad files, or if none holds a floating
/// tensor.
Report read_report(const std::vector<std::string>& files, const ReportOptions& options,
                   const Progress& progress = {});

/// Fills everything but name, file, dtype and shape from the summary.
void analyse(TensorReport& tensor, const ReportOptions& options);

/// The joint loss scale: no tensor overflows, none loses more than the target.
LossScale joint_loss_scale(const std::vector<TensorReport>& tensors, const TensorReport& total,
                           const ReportOptions& options);

/// "2^17", and its decimal value where that is short: "2^17 = 131072".
std::string power_of_two(int log2);
/// A share as people read it: "61.1 %", "0.044 %", "0 %".
std::string percent(double share);

}  // namespace binade
