// SPDX-License-Identifier: Apache-2.0
//
// The order of a training iteration under a loss scaler (zero_grad, forward, backward, unscale, clip, step,
// update), and the names of the mistakes people make with it, also of those that no error tells of.
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
  update
};

enum class OrderMistake : std::uint8_t {
  clip_before_unscale,  ///< clips at threshold / scale
  missing_update,       ///< a new iteration with the old stages and scale
  double_unscale,
  unscale_after_step,
  double_step,
  clip_after_step,  ///< has no effect on the step
  step_without_backward,
  unscale_without_backward,
  update_without_step,
  backward_after_unscale,  ///< adds scaled gradients to unscaled ones
  unscale_after_update,    ///< divides by another scale than the loss was multiplied with
  backward_over_update,    ///< adds gradients of two scales
  backward_without_forward,
  backward_without_zero_grad,  ///< warning: right where the sum is meant
};

struct OrderFinding {
  OrderMistake mistake;
  bool warning = false;         ///< may be meant
  std::size_t event = 0;        ///< number of the event that gave it away, from 0
  std::uint64_t optimizer = 0;  ///< whose; 0 for forward, backward and update
  std::string message;          ///< what, why it matters, what to do, in one line
};

std::string_view training_event_name(TrainingEvent event);
std::string_view order_mistake_name(OrderMistake mistake);

/// Takes the events as they come. zero_grad, unscale, clip and step belong to an optimizer, the others to all.
class OrderChecker {
 public:
  /// What the event gives away, nothing where it is in order.
  std::vector<OrderFinding> on(TrainingEvent event, std::uint64_t optimizer = 0);
  const std::vector<OrderFinding>& findings() const { return findings_; }

 private:
  /// Numbers of the backward passes seen when something was done last; -1: never.
  struct PerOptimizer {
    std::int64_t zeroed = 0;
    std::int64_t unscaled = -1, stepped = -1;  ///< since the last update
    std::int64_t last_step = -1;               ///< at any time
  };

  void report(OrderMistake mistake, std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void judge_gradients(std::uint64_t optimizer, OrderMistake without_backward,
                       std::vector<OrderFinding>& found);
  void on_unscale(std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void on_clip(std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void on_step(std::uint64_t optimizer, std::vector<OrderFinding>& found);
  void on_update(std::vector<OrderFinding>& found);

  std::map<std::uint64_t, PerOptimizer> optimizers_;
  std::vector<OrderFinding> findings_;
  std::size_t events_ = 0;
  std::int64_t backwards_ = 0, backwards_at_update_ = -1;
  bool forward_since_update_ = false;
};

}  // namespace binade
