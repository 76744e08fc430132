// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's GradScaler (torch/amp/grad_scaler.py) to the letter: stages per optimizer, its error texts, found_inf
// asked of the scaled gradient, one scale for all optimizers; on top of any row of the loss scale policies.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "emulate/format.h"
#include "lib/amp/loss_scaler.h"

namespace binade {

/// A gradient: values on the grid of dtype, which binary32 must hold. A view without data
/// (values.data() == nullptr) is PyTorch's None: the parameter took no part in the backward pass.
struct GradientView {
  Format dtype;
  std::span<float> values;
};

/// `id` tells optimizers apart. A fused optimizer gives `fused_step` instead of `step` and is always called, as
/// PyTorch's with _step_supports_amp_scaling: it unscales by grad_scale, where there is one, and skips by found_inf.
struct OptimizerView {
  std::uint64_t id = 0;
  std::vector<GradientView> gradients;
  std::function<void()> step =
      {};  ///< may be empty: the caller steps where GradScaler::step says so
  std::function<void(std::optional<float> grad_scale, bool found_inf)> fused_step = {};
};

/// The first gradient element that was not finite, in order of the gradients.
struct FoundInf {
  std::uint64_t optimizer = 0;
  std::size_t gradient = 0;  ///< index in OptimizerView::gradients
  std::size_t element = 0;
  float value = 0;  ///< scaled, as it was found
};

class GradScaler {
 public:
  struct Options {
    bool enabled = true;
    /// Unscales binary16 gradients, which PyTorch refuses: flows that keep masters apart (Apex's O2, O3).
    bool allow_fp16 = false;
  };

  explicit GradScaler(const LossScalePolicy& policy = loss_scale_policy("torch"))
      : GradScaler(policy, Options()) {}
  GradScaler(const LossScalePolicy& policy, const Options& options);

  /// loss · scale in binary32; the loss itself where disabled.
  float scale_loss(float loss);
  /// The same for every value, rounded to binary32.
  void scale(std::span<float> outputs);

  /// Multiplies the gradients by float(1 / double(scale)) and records whether one was not finite before.
  void unscale_(const OptimizerView& optimizer);  // NOLINT(readability-identifier-naming)
  /// Unscales unless done, and steps unless an inf was found; true if the optimizer stepped (of a fused one: was to).
  bool step(const OptimizerView& optimizer);
  /// Ends the iteration: the policy's next scale, or the given one, which leaves the growth tracker alone.
  void update(std::optional<float> new_scale = {});

  bool is_enabled() const { return options_.enabled; }
  /// 1 where disabled. As in PyTorch the given init_scale until the first scale(), the same in binary32 after.
  double get_scale() const;
  std::int64_t get_growth_tracker() const;
  double get_growth_factor() const { return scaler_.policy().growth_factor; }
  double get_backoff_factor() const { return scaler_.policy().backoff_factor; }
  std::int64_t get_growth_interval() const { return scaler_.policy().growth_interval; }
  void set_growth_factor(double factor);
  void set_backoff_factor(double factor);
  void set_growth_interval(std::int64_t interval);

  /// {scale, growth_factor, backoff_factor, growth_interval, _growth_tracker}, {} where disabled; an infinite
  /// scale is "inf". Other rows than torch add "policy" and "state".
  nlohmann::ordered_json state_dict() const;
  void load_state_dict(const nlohmann::json& state);

  /// Whether this optimizer's gradients of this iteration held an inf; none before they were unscaled.
  std::optional<bool> found_inf(std::uint64_t optimizer) const;
  /// Who skipped a step: the first of this iteration, still told after update() until the next unscaling.
  const std::optional<FoundInf>& first_found_inf() const { return first_; }
  const LossScaler& loss_scaler() const { return scaler_; }
  /// When PyTorch's may be pickled: before the first unscale_ or step of an iteration, or after update.
  bool is_between_iterations() const { return optimizers_.empty(); }

 private:
  enum class Stage : std::uint8_t { ready, unscaled, stepped };
  struct PerOptimizer {
    Stage stage = Stage::ready;
    std::optional<bool> found_inf = {};  ///< none: no gradient was looked at
  };

  void require_scaled(std::string_view function) const;
  std::optional<bool> unscale_gradients(const OptimizerView& optimizer, float inv_scale,
                                        bool allow_fp16);
  bool fused_step(const OptimizerView& optimizer, PerOptimizer& state);
  std::shared_ptr<PerOptimizer> state_of(const OptimizerView& optimizer);

  Options options_;
  LossScaler scaler_;
  bool scale_used_ = false;  ///< PyTorch makes its scale tensor in the first scale()
  double unused_scale_ = 1;  ///< the number it makes it of
  /// Shared with the step that is under way: what steps may call update(), which forgets them.
  std::map<std::uint64_t, std::shared_ptr<PerOptimizer>> optimizers_;
  std::optional<FoundInf> first_;
  bool first_is_old_ = false;
};

}  // namespace binade
