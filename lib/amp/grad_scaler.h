// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's GradScaler (torch/amp/grad_scaler.py), reproduced exactly: the stages of each
// optimizer, the texts of its errors, the search for infinities in the scaled gradients, and one
// scale for all optimizers. It works with any row of the loss scale policies.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "emulate/format.h"
#include "lib/amp/loss_scaler.h"

namespace binade {

/// A gradient: numbers of `dtype`, which binary32 must hold. A view without data (values.data() ==
/// nullptr) stands for PyTorch's None: the backward pass did not reach the parameter.
struct GradientView {
  Format dtype;
  std::span<float> values;
};

/// An optimizer as the scaler sees it. `id` identifies the optimizer. A fused optimizer has
/// `fused_step` instead of `step`; it is always called, as PyTorch's optimizers with
/// _step_supports_amp_scaling are: it divides the gradients by grad_scale, if there is one, and
/// skips the step if found_inf is true.
struct OptimizerView {
  std::uint64_t id = 0;
  std::vector<GradientView> gradients;
  std::function<void()> step =
      {};  ///< may be empty: the caller steps if GradScaler::step returns true
  std::function<void(std::optional<float> grad_scale, bool found_inf)> fused_step = {};
};

/// The first gradient element that was not finite, in the order of the gradients.
struct FoundInf {
  std::uint64_t optimizer = 0;
  std::size_t gradient = 0;  ///< index in OptimizerView::gradients
  std::size_t element = 0;
  float value = 0;  ///< the element, still scaled
};

/// What a checkpoint keeps of a GradScaler.
struct GradScalerState {
  double growth_factor = 2, backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
  LossScalerState scaler;
};

/// A copy shares nothing with what it was copied from, also between an unscaling and the update.
class GradScaler {
 public:
  struct Options {
    bool enabled = true;
    /// Allows binary16 gradients, which PyTorch's unscale_ refuses; Apex's O2 and O3 need them.
    bool allow_fp16 = false;
  };

  /// The constructors throw Error if the scaler is enabled and its scale can grow, but the growth
  /// factor is not above 1 or a backoff factor that multiplies is not below 1.
  explicit GradScaler(const LossScalePolicy& policy = loss_scale_policy("torch"))
      : GradScaler(policy, Options()) {}
  GradScaler(const LossScalePolicy& policy, const Options& options);

  /// Returns loss · scale in binary32; the loss itself if the scaler is disabled.
  float scale_loss(float loss);
  /// Multiplies every value by the scale, in binary32; does nothing if the scaler is disabled.
  void scale(std::span<float> outputs);

  /// Multiplies the gradients by float(1 / double(scale)) and records whether one of them was not
  /// finite before. Throws Error, with PyTorch's text, if called twice between updates, after
  /// step(), or before the first scale(), and for binary16 gradients without allow_fp16; also for
  /// gradients of a format that binary32 does not hold. Does nothing if the scaler is disabled.
  void unscale_(const OptimizerView& optimizer);  // NOLINT(readability-identifier-naming)
  /// Unscales the gradients unless unscale_ has done so, and calls the optimizer's step unless an
  /// inf was found and the policy skips. Returns whether the optimizer stepped (for a fused one:
  /// whether it was told not to skip); true if the scaler is disabled, since then it always steps.
  /// Throws Error, with PyTorch's text, if called twice between updates, before the first scale(),
  /// or, unless the optimizer is fused, without any gradient; and as unscale_ does.
  bool step(const OptimizerView& optimizer);
  /// Ends the iteration: the scale becomes the policy's next one, or `new_scale`, which leaves the
  /// growth tracker as it is. Throws Error before the first scale(), and, without `new_scale`, if
  /// no gradients were checked for infinities or the policy gives up at its smallest scale. Does
  /// nothing if the scaler is disabled.
  void update(std::optional<float> new_scale = {});

  bool is_enabled() const { return options_.enabled; }
  /// Returns the scale; 1 if the scaler is disabled. As in PyTorch it is the given init_scale until
  /// the first scale(), and a binary32 number from then on.
  double get_scale() const;
  std::int64_t get_growth_tracker() const;
  double get_growth_factor() const { return scaler_.policy().growth_factor; }
  double get_backoff_factor() const { return scaler_.policy().backoff_factor; }
  std::int64_t get_growth_interval() const { return scaler_.policy().growth_interval; }
  void set_growth_factor(double factor);
  void set_backoff_factor(double factor);
  void set_growth_interval(std::int64_t interval);

  /// The state between two iterations. set_state() does not check it.
  GradScalerState state() const;
  void set_state(const GradScalerState& state);

  /// Returns whether this optimizer's gradients of this iteration held an infinity or NaN; none
  /// before they are unscaled or stepped, after update(), and if there are no gradients.
  std::optional<bool> found_inf(std::uint64_t optimizer) const;
  /// Returns the first gradient element of this iteration that was not finite. It is kept after
  /// update() until the next gradients are unscaled.
  const std::optional<FoundInf>& first_found_inf() const { return first_; }
  const LossScaler& loss_scaler() const { return scaler_; }

 private:
  enum class Stage : std::uint8_t { ready, unscaled, stepped };
  struct PerOptimizer {
    Stage stage = Stage::ready;
    std::optional<bool> found_inf = {};  ///< none: no gradient was checked
  };

  /// The optimizers of this iteration. Shared pointers, because an optimizer's step may call
  /// update(), which clears the map while the step still uses its entry; a copy of the map has
  /// entries of its own.
  struct States {
    std::map<std::uint64_t, std::shared_ptr<PerOptimizer>> of;

    States() = default;
    States(const States& other) {
      for (const auto& [id, state] : other.of) {
        of.emplace(id, std::make_shared<PerOptimizer>(*state));
      }
    }
    States(States&&) = default;
    States& operator=(States other) noexcept {
      of.swap(other.of);
      return *this;
    }
    ~States() = default;
  };

  void require_scaled(std::string_view function) const;
  std::optional<bool> unscale_gradients(const OptimizerView& optimizer, float inv_scale,
                                        bool allow_fp16);
  bool fused_step(const OptimizerView& optimizer, PerOptimizer& state);
  std::shared_ptr<PerOptimizer> state_of(const OptimizerView& optimizer);

  Options options_;
  LossScaler scaler_;
  bool scale_used_ = false;  ///< scale() was called: PyTorch makes its scale tensor then
  double unused_scale_ = 1;  ///< the scale before that call
  States optimizers_;
  std::optional<FoundInf> first_;
  bool first_is_old_ = false;  ///< first_ belongs to the iteration before the last update()
};

}  // namespace binade
