// SPDX-License-Identifier: Apache-2.0
//
// "FP16, BF16 or FP8 for me?": for each role the narrowest format that keeps range and precision of
// each of its tensors within the targets of the options, what the next narrower one would cost, and
// which tensors hold it back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/report/tensor_report.h"

namespace binade {

struct Report;

/// What the values are multiplied by before they are rounded: nothing, the one loss scale of all
/// gradients, or a scale of each tensor's own, the largest power of two that keeps the headroom.
enum class ScaledBy : std::uint8_t { nothing, loss_scale, own };

/// Returns how a format of narrow_formats is used for a role: FP8 with scales of each tensor's own,
/// binary16 with the loss scale for gradients, all else as it is.
ScaledBy scaled_by(const Format& format, std::optional<TensorRole> role);

/// What a tensor costs in a format; of several steps, the worst.
struct TensorCost {
  bool fits = true;        ///< within all targets
  bool overflows = false;  ///< the headroom is not kept
  double lost_l2 = 0;      ///< a share
  double to_zero = 0;      ///< a share of the finite non-zero values
  double sqnr_db = 0;      ///< infinity if nothing is lost
  bool estimated = false;  ///< the SQNR is (range/rounding_noise.h)
};

/// A tensor that keeps a role from a format.
struct HeldBy {
  std::string name;
  std::optional<TensorCost> cost = {};  ///< nothing for a format that is used with the loss scale
  std::optional<ScaleInterval> loss_scales = {};  ///< for such a format: at which it would serve
};

/// A format for all tensors of a role.
struct FormatVerdict {
  std::string name;
  ScaledBy scaled_by = {};
  std::optional<int> scale_log2 = {};  ///< the loss scale; nothing if there is none
  std::size_t failing = 0;             ///< tensors beyond a target
  std::vector<HeldBy> held_by;         ///< the worst of these, at most verdict_names
  /// Of the worst tensor (with the loss scale: of all together); nothing without a scale.
  std::optional<TensorCost> cost = {};
};

struct RoleVerdict {
  std::string role;         ///< as tensor_role_name() has it
  std::size_t tensors = 0;  ///< with finite non-zero values; of a run, one for all steps of a layer
  /// Gradients of weights that are not asked, as no loss scale is asked to save them: their norm is
  /// at most 2^negligible_log2 (loss_scale.h) of that of all.
  std::size_t negligible = 0;
  std::string first_negligible = {};
  /// Tensors with NaN or Inf, of which only the finite values are asked; and those of them that
  /// have no finite non-zero value, which are not among `tensors`.
  std::size_t not_finite = 0, nothing_finite = 0;
  std::size_t at_floor =
      0;  ///< of `tensors`, those of which, in some step, smaller values are zero already
  double target_sqnr = 0;
  std::string format;  ///< empty if none of narrow_formats serves: binary32
  std::array<FormatVerdict, narrow_formats.size()> formats;
};

inline constexpr std::size_t verdict_names = 3;

struct NarrowestFormats {
  /// In TensorRole's order, other last; only those with finite non-zero values.
  std::vector<RoleVerdict> roles;
  bool estimated = false;                  ///< some SQNR is
  std::vector<std::string> withheld = {};  ///< roles with NaN or Inf and no finite non-zero value
  /// Of a watched run that was not finite: the first step that was not, unless a scaler skipped it
  /// for its gradients.
  std::optional<std::uint64_t> broke_at = {};
  bool went_on =
      false;  ///< no weight, update or state was touched by that, as a step counted later shows
};

/// Gathers what tensors cost, one after the other, in any order.
class VerdictSums {
 public:
  explicit VerdictSums(const ReportOptions& options) : options_(options) {}

  void add(const TensorReport& tensor);

  /// Returns the verdict of the tensors added, which are those of the report; its loss scale and
  /// roles are read.
  NarrowestFormats finish(const Report& report) const;

 private:
  /// What is kept of a tensor, or of a layer's tensors of one role in all steps.
  struct Asked {
    std::array<TensorCost, narrow_formats.size()> costs{};
    /// At which binary16 serves a gradient.
    ScaleInterval loss_scales{lowest_scale_log2, highest_scale_log2};
    double norm_log2 = 0;
    bool not_finite = false;
    bool at_floor = false;
  };
  /// By file (none with a step) and name.
  using Tensors = std::map<std::pair<std::string, std::string>, Asked>;

  static double norm_log2_of(const Tensors& tensors);
  std::size_t nothing_finite(std::size_t role) const;
  bool is_finite(TensorRole role) const;
  RoleVerdict role_verdict(std::size_t role, const Tensors& tensors, const Report& report) const;

  const ReportOptions& options_;
  std::map<std::size_t, Tensors> roles_;  ///< by index of the role; "other" is last
  /// Tensors with NaN or Inf and no finite non-zero value, at least in one step.
  std::map<std::size_t, std::set<std::pair<std::string, std::string>>> not_finite_;
};

/// Returns the verdict in sentences: the answer, one for each role, the targets, and what the
/// verdict cannot know. Empty if there is no role. With `watched`, steps were.
std::vector<std::string> verdict_sentences(const NarrowestFormats& verdict,
                                           const ReportOptions& options, bool watched);
nlohmann::ordered_json verdict_json(const NarrowestFormats& verdict, const ReportOptions& options,
                                    bool watched);

}  // namespace binade
