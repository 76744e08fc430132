// SPDX-License-Identifier: Apache-2.0
//
// The rules for the order of calls in a training iteration, and their messages. Each mistake is
// found at the event that reveals it.
#include "lib/amp/order_checker.h"

#include <algorithm>
#include <array>

namespace binade {
namespace {

struct Rule {
  std::string_view name;
  std::string_view message;
  bool warning = false;
};

/// So many steps in a row make what is done before them a habit.
constexpr int regular_rounds = 3;

/// Names and messages of the mistakes, in the order of OrderMistake.
constexpr std::array<Rule, 19> rules{{
    {"clip_before_unscale",
     "clips scaled gradients: the effective threshold is threshold / scale; call unscale_ before"},
    {"missing_update",
     "begins a new iteration without update(): the scale stands still and unscale_ or step raises; "
     "call update() once after every step, also after a skipped one"},
    {"double_unscale", "divides by the scale twice; call unscale_ once between update() and step"},
    {"unscale_after_step",
     "unscales after step has done so; call unscale_ before step or not at all"},
    {"double_step",
     "steps twice with the same gradients; step once, through the loss scaler if there is one, "
     "then "
     "update() it and run a new iteration"},
    {"clip_after_step",
     "clips gradients that step has used already; clip after backward, and after unscale_ if a "
     "loss scaler is used, before step"},
    {"step_without_backward", "steps without gradients; run backward after zero_grad"},
    {"unscale_without_backward", "unscales without gradients; run backward after zero_grad"},
    {"update_without_step",
     "updates the scale without a check of any gradient; call unscale_ or step before update()"},
    {"backward_after_unscale",
     "adds scaled gradients to unscaled ones by a backward pass after unscale_; accumulate first, "
     "unscale once before step"},
    {"unscale_after_update",
     "divides gradients that were made with the scale before update() by the one after it; step "
     "every optimizer before update()"},
    {"update_after_unscale",
     "divides by the scale a second time, since update() before step forgets that unscale_ has "
     "divided; step every optimizer before update()"},
    {"backward_over_update",
     "adds gradients of two scales; call update() only after the last of the accumulated backward "
     "passes"},
    {"backward_without_forward",
     "runs backward without a forward pass since update(); run forward under the loss scaler "
     "first"},
    {"backward_without_scale",
     "divides gradients by a scale that their loss was not multiplied by; call backward on what "
     "scale(loss) returns"},
    {"step_with_scaled_gradients",
     "steps with gradients that are still multiplied by the loss scale; call the scaler's step, or "
     "unscale_ before"},
    {"plain_beside_scaled",
     "divides the sum of gradients of two losses by the scale, of which one was not multiplied by "
     "it; "
     "call backward on what scale(loss) returns, for each loss"},
    {"backward_without_zero_grad",
     "adds to gradients that were stepped with already; call zero_grad unless this is meant", true},
    {"zero_grad_without_step",
     "sets gradients of backward passes to zero that no step has used, before each step again; "
     "call "
     "zero_grad once after step, not in each accumulated pass, unless this is meant, as where "
     "gradients are only looked at",
     true},
}};

}  // namespace

std::string_view training_event_name(TrainingEvent event) {
  constexpr std::array<std::string_view, 11> names{
      "zero_grad", "forward",        "backward",   "unscale",    "clip", "step",
      "update",    "plain_backward", "plain_step", "accumulate", "use"};
  return names.at(static_cast<std::size_t>(event));
}

std::string_view order_mistake_name(OrderMistake mistake) {
  return rules.at(static_cast<std::size_t>(mistake)).name;
}

std::vector<OrderFinding> OrderChecker::on(TrainingEvent event, std::uint64_t optimizer) {
  std::vector<OrderFinding> found;
  switch (event) {
    case TrainingEvent::zero_grad: on_zero_grad(optimizer); break;
    case TrainingEvent::forward: forward_since_update_ = true; break;
    case TrainingEvent::backward:
      if (!forward_since_update_) report(OrderMistake::backward_without_forward, 0, found);
      last_scaled_ = ++backwards_;
      break;
    case TrainingEvent::plain_backward: last_plain_ = ++backwards_; break;
    case TrainingEvent::unscale: on_unscale(optimizer, found); break;
    case TrainingEvent::clip: on_clip(optimizer, found); break;
    case TrainingEvent::step: on_step(optimizer, found); break;
    case TrainingEvent::plain_step: on_plain_step(optimizer, found); break;
    case TrainingEvent::update: on_update(found); break;
    case TrainingEvent::accumulate: on_accumulate(optimizer); break;
    case TrainingEvent::use: optimizers_[optimizer].used = backwards_; break;
  }
  ++events_;
  return found;
}

void OrderChecker::report(OrderMistake mistake, std::uint64_t optimizer,
                          std::vector<OrderFinding>& found) {
  const Rule& rule = rules.at(static_cast<std::size_t>(mistake));
  found.push_back({mistake, rule.warning, events_, optimizer, std::string(rule.message)});
}

/// Reports what is wrong with the gradients that an optimizer is about to divide by the scale. This
/// cannot be judged earlier, since a backward pass does not say which optimizers' parameters it
/// reaches.
void OrderChecker::judge_gradients(std::uint64_t optimizer, OrderMistake without_backward,
                                   std::vector<OrderFinding>& found) {
  const PerOptimizer& state = optimizers_[optimizer];
  if (backwards_ == state.zeroed) {
    report(without_backward, optimizer, found);
  } else if (last_scaled_ <= state.zeroed) {
    report(OrderMistake::backward_without_scale, optimizer, found);
  } else if (backwards_ == backwards_at_update_) {
    const bool steps = without_backward == OrderMistake::step_without_backward;
    report(state.last_step == backwards_
               ? steps ? OrderMistake::double_step : OrderMistake::unscale_after_step
           : state.last_division == backwards_ ? OrderMistake::update_after_unscale
                                               : OrderMistake::unscale_after_update,
           optimizer, found);
  } else if (state.last_step > state.zeroed) {
    report(OrderMistake::backward_without_zero_grad, optimizer, found);
  } else if (state.zeroed < backwards_at_update_) {
    report(OrderMistake::backward_over_update, optimizer, found);
  } else if (std::min(state.scaled, state.plain) > state.zeroed) {
    report(OrderMistake::plain_beside_scaled, optimizer, found);
  }
}

void OrderChecker::on_accumulate(std::uint64_t optimizer) {
  PerOptimizer& state = optimizers_[optimizer];
  (last_scaled_ == backwards_ ? state.scaled : state.plain) = backwards_;
}

/// Returns whether an optimizer's gradients hold some that are still multiplied by the scale, as
/// far as is known.
bool OrderChecker::is_multiplied(const PerOptimizer& state) const {
  const bool is_known = std::max(state.scaled, state.plain) >= 0;
  return (is_known ? state.scaled : last_scaled_) > std::max(state.zeroed, state.last_division);
}

void OrderChecker::on_zero_grad(std::uint64_t optimizer) {
  PerOptimizer& state = optimizers_[optimizer];
  // What the pass of another optimizer's loss has left after its step is nobody's.
  if (backwards_ > std::max({state.zeroed, state.used, stepped_})) state.throws = true;
  state.zeroed = backwards_;
}

/// Reports gradients that were taken away before each of several steps: before one now and then
/// they were guarded, as against NaN.
void OrderChecker::judge_round(std::uint64_t optimizer, std::vector<OrderFinding>& found) {
  PerOptimizer& state = optimizers_[optimizer];
  const bool throws = state.throws && backwards_ > state.zeroed;  // else it steps without gradients
  state.rounds = throws ? state.rounds + 1 : 0;
  state.throws = false;
  if (state.rounds == regular_rounds)
    report(OrderMistake::zero_grad_without_step, optimizer, found);
  stepped_ = backwards_;
}

void OrderChecker::on_unscale(std::uint64_t optimizer, std::vector<OrderFinding>& found) {
  PerOptimizer& state = optimizers_[optimizer];
  if (state.stepped >= 0) {
    const bool next_iteration = backwards_ > state.stepped;
    report(next_iteration ? OrderMistake::missing_update : OrderMistake::unscale_after_step,
           optimizer, found);
  } else if (state.unscaled >= 0) {
    const bool next_iteration = state.zeroed >= state.unscaled;
    report(next_iteration ? OrderMistake::missing_update : OrderMistake::double_unscale, optimizer,
           found);
  } else {
    judge_gradients(optimizer, OrderMistake::unscale_without_backward, found);
    if (backwards_ == state.zeroed) return;
  }
  state.unscaled = state.last_division = backwards_;
}

void OrderChecker::on_clip(std::uint64_t optimizer, std::vector<OrderFinding>& found) {
  const PerOptimizer& state = optimizers_[optimizer];
  if (state.last_step == backwards_ && backwards_ > state.zeroed) {
    report(OrderMistake::clip_after_step, optimizer, found);
  } else if (is_multiplied(state)) {
    report(OrderMistake::clip_before_unscale, optimizer, found);
  }
}

void OrderChecker::on_step(std::uint64_t optimizer, std::vector<OrderFinding>& found) {
  PerOptimizer& state = optimizers_[optimizer];
  if (state.stepped >= 0) {
    const bool next_iteration = backwards_ > state.stepped;
    report(next_iteration ? OrderMistake::missing_update : OrderMistake::double_step, optimizer,
           found);
  } else if (state.unscaled < 0) {
    judge_gradients(optimizer, OrderMistake::step_without_backward, found);
    state.unscaled = state.last_division = backwards_;
  } else if (state.zeroed >= state.unscaled) {
    // The gradients were unscaled before the last zero_grad, so in the iteration before.
    report(OrderMistake::missing_update, optimizer, found);
  } else if (state.last_step == backwards_) {
    report(OrderMistake::double_step, optimizer, found);
  } else if (is_multiplied(state)) {
    report(OrderMistake::backward_after_unscale, optimizer, found);
  } else if (state.last_step >= state.unscaled) {
    report(OrderMistake::backward_without_zero_grad, optimizer, found);
  }
  state.stepped = backwards_;
  state.last_step = backwards_;
  judge_round(optimizer, found);
}

void OrderChecker::on_plain_step(std::uint64_t optimizer, std::vector<OrderFinding>& found) {
  PerOptimizer& state = optimizers_[optimizer];
  if (backwards_ == state.zeroed) {
    report(OrderMistake::step_without_backward, optimizer, found);
  } else if (state.last_step == backwards_) {
    report(OrderMistake::double_step, optimizer, found);
  } else if (is_multiplied(state) && (last_plain_ <= state.zeroed || state.scaled >= 0)) {
    report(state.last_division > state.zeroed ? OrderMistake::backward_after_unscale
                                              : OrderMistake::step_with_scaled_gradients,
           optimizer, found);
  } else if (state.last_step > state.zeroed) {
    report(OrderMistake::backward_without_zero_grad, optimizer, found);
  }
  state.last_step = backwards_;
  judge_round(optimizer, found);
}

void OrderChecker::on_update(std::vector<OrderFinding>& found) {
  bool checked = false;
  for (auto& [id, state] : optimizers_) {
    checked = checked || state.unscaled >= 0;
    state.unscaled = -1;
    state.stepped = -1;
  }
  if (!checked) report(OrderMistake::update_without_step, 0, found);
  forward_since_update_ = false;
  backwards_at_update_ = backwards_;
}

}  // namespace binade
