// SPDX-License-Identifier: Apache-2.0
//
// Checks the order of the calls in a training iteration (zero_grad, forward, backward, unscale,
// clip, step, update), under a loss scaler or without one, and names mistakes, including those for
// which GradScaler raises no error.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace binade {

enum class TrainingEvent : std::uint8_t {
  zero_grad,
  forward,
  backward,
  unscale,
  clip,
  step,
  update,
  plain_backward,  ///< of a loss that no scaler has multiplied
  plain_step,      ///< of the optimizer itself, not through a scaler
  accumulate,      ///< the last backward pass reached an optimizer's gradients
  use              ///< of gradients by other than a step, as where parameters are moved by hand
};

enum class OrderMistake : std::uint8_t {
  clip_before_unscale,  ///< clips scaled gradients: the threshold is in effect threshold / scale
  missing_update,       ///< a new iteration keeps the scale and the stages of the old one
  double_unscale,
  unscale_after_step,
  double_step,
  clip_after_step,  ///< clipping has no effect on the step
  step_without_backward,
  unscale_without_backward,
  update_without_step,
  backward_after_unscale,  ///< adds scaled gradients to unscaled ones
  unscale_after_update,    ///< divides by another scale than the loss was multiplied by
  update_after_unscale,    ///< divides by the scale twice, since update() forgets the unscaling
  backward_over_update,    ///< adds gradients of two scales
  backward_without_forward,
  backward_without_scale,      ///< divides by a scale that the loss was not multiplied by
  step_with_scaled_gradients,  ///< updates that are too large by the scale
  plain_beside_scaled,         ///< divides by a scale that one of two losses was not multiplied by
  backward_without_zero_grad,  ///< a warning: the sum of gradients may be intended
  zero_grad_without_step,      ///< a warning: gradients may be wanted to look at them
};

struct OrderFinding {
  OrderMistake mistake;
  bool warning = false;         ///< may be intended
  std::size_t event = 0;        ///< number, from 0, of the event at which it was found
  std::uint64_t optimizer = 0;  ///< the optimizer's id; 0 for forward, backward and update
  std::string message;          ///< what is wrong, why it matters and what to do, in one line
};

std::string_view training_event_name(TrainingEvent event);
std::string_view order_mistake_name(OrderMistake mistake);

/// Checks a training's events in the order in which they happen. zero_grad, unscale, clip and the
/// steps belong to one optimizer, and so does use; the others belong to all. A training without a
/// scaler has plain_backward and plain_step, and neither unscale nor update. Which gradients a
/// backward pass reached is known of optimizers that have had an accumulate; the others' may have
/// been reached by each.
class OrderChecker {
 public:
  /// Takes the next event; returns the mistakes that it reveals, if any.
  std::vector<OrderFinding> on(TrainingEvent event, std::uint64_t optimizer = 0);

 private:
  /// For each kind of event, how many backward passes there had been at its last occurrence; -1: it
  /// has not occurred. `zeroed` begins as 0, since an optimizer has no gradients at first.
  struct PerOptimizer {
    std::int64_t zeroed = 0;
    std::int64_t unscaled = -1, stepped = -1;  ///< since the last update
    std::int64_t last_step = -1,
                 last_division = -1;  ///< since the beginning; a division by the scale
    std::int64_t scaled = -1,
                 plain = -1;  ///< the last backward pass of either kind that reached it
    std::int64_t used = -1;
    /// Since the last step zero_grad took gradients away that nobody had used.
    bool throws = false;
    int rounds = 0;  ///< steps in a row before which it did
  };

  void report(OrderMistake mistake, std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void judge_gradients(std::uint64_t optimizer, OrderMistake without_backward,
                       std::vector<OrderFinding>& found);
  void on_zero_grad(std::uint64_t optimizer);
  void judge_round(std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void on_unscale(std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void on_clip(std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void on_step(std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void on_plain_step(std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void on_update(std::vector<OrderFinding>& found);
  void on_accumulate(std::uint64_t optimizer);
  bool is_multiplied(const PerOptimizer& state) const;

  std::map<std::uint64_t, PerOptimizer> optimizers_;
  std::size_t events_ = 0;
  std::int64_t backwards_ = 0, backwards_at_update_ = -1;
  std::int64_t last_scaled_ = 0, last_plain_ = 0;  ///< backwards_ after the last of either kind
  std::int64_t stepped_ = -1;                      ///< backwards_ at the last step of any optimizer
  bool forward_since_update_ = false;
};

}  // namespace binade
