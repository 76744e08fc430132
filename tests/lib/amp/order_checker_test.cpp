// SPDX-License-Identifier: Apache-2.0
//
// The order of calls in a training step: several correct ones, and each mistake, which is reported
// by its name.
#include "lib/amp/order_checker.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace binade::test::order_checker_test {
namespace {

TrainingEvent event_named(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(TrainingEvent::use); ++i) {
    if (training_event_name(static_cast<TrainingEvent>(i)) == name)
      return static_cast<TrainingEvent>(i);
  }
  FAIL("no event " << name);
  return {};
}

/// Returns the names of the mistakes in a text of events, such as "zero_grad forward step:2".
/// Events belong to optimizer 1 where none is named.
std::string mistakes_of(const std::string& events, OrderChecker checker = {}) {
  std::istringstream words(events);
  std::string out;
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    const std::uint64_t optimizer =
        colon == std::string::npos ? 1 : std::stoull(word.substr(colon + 1));
    for (const OrderFinding& finding : checker.on(event_named(word.substr(0, colon)), optimizer)) {
      out += (out.empty() ? "" : " ") + std::string(order_mistake_name(finding.mistake));
      CHECK(finding.message.size() > 20);
    }
  }
  return out;
}

const std::string good = "zero_grad forward backward unscale clip step update ";

TEST_CASE("the documented orders have no mistake") {
  CHECK(mistakes_of(good + good + good) == "");
  CHECK(mistakes_of(
            "zero_grad forward backward step update forward zero_grad backward step update") == "");
  // gradients accumulated over two passes
  CHECK(mistakes_of("zero_grad forward backward forward backward unscale clip step update " +
                    good) == "");
  // zero_grad at the end of the iteration
  CHECK(mistakes_of(
            "forward backward step update zero_grad forward backward step update zero_grad") == "");
  CHECK(mistakes_of(
            "forward backward step zero_grad update forward backward step zero_grad update") == "");
  // a step that the user skips himself, with update
  CHECK(mistakes_of("zero_grad forward backward unscale update " + good) == "");
}

TEST_CASE("two losses and two optimizers with one update have no mistake") {
  const std::string both =
      "zero_grad:1 zero_grad:2 forward forward backward backward unscale:1 clip:1 step:1 step:2 "
      "update ";
  CHECK(mistakes_of(both + both) == "");
}

TEST_CASE("a discriminator and a generator have no mistake, with one update or two") {
  const std::string two =
      "zero_grad:1 forward backward step:1 update zero_grad:2 forward backward step:2 update ";
  const std::string one =
      "zero_grad:1 forward backward step:1 zero_grad:2 forward backward step:2 update ";
  CHECK(mistakes_of(two + two + two) == "");
  CHECK(mistakes_of(one + one + one) == "");
}

TEST_CASE("clipping before unscaling is named") {
  CHECK(mistakes_of("zero_grad forward backward clip step update") == "clip_before_unscale");
  CHECK(mistakes_of("zero_grad forward backward clip unscale step update") ==
        "clip_before_unscale");
  CHECK(mistakes_of("zero_grad:1 forward backward unscale:1 clip:2 step:1 step:2 update") ==
        "clip_before_unscale");
}

TEST_CASE("clipping after the step is named") {
  CHECK(mistakes_of("zero_grad forward backward step clip update") == "clip_after_step");
}

TEST_CASE("a missing update is named in the next iteration") {
  CHECK(mistakes_of("zero_grad forward backward step zero_grad forward backward step") ==
        "missing_update");
  CHECK(mistakes_of("zero_grad forward backward step zero_grad forward backward unscale") ==
        "missing_update");
}

TEST_CASE("a missing update after a step the user skipped is named") {
  CHECK(mistakes_of("zero_grad forward backward unscale zero_grad forward backward unscale") ==
        "missing_update");
  CHECK(mistakes_of("zero_grad forward backward unscale zero_grad forward backward step") ==
        "missing_update");
}

TEST_CASE("unscaling twice, stepping twice and unscaling after the step are named") {
  CHECK(mistakes_of("zero_grad forward backward unscale unscale step update") == "double_unscale");
  CHECK(mistakes_of("zero_grad forward backward step step update") == "double_step");
  CHECK(mistakes_of("zero_grad forward backward step unscale update") == "unscale_after_step");
}

TEST_CASE("unscaling each of the accumulated passes is named") {
  CHECK(mistakes_of("zero_grad forward backward unscale forward backward unscale step update") ==
        "double_unscale");
  CHECK(mistakes_of("zero_grad forward backward unscale forward backward step update") ==
        "backward_after_unscale");
}

TEST_CASE("a step, an unscale and an update without gradients are named") {
  CHECK(mistakes_of("zero_grad step") == "step_without_backward");
  CHECK(mistakes_of("zero_grad forward unscale") == "unscale_without_backward");
  CHECK(mistakes_of("zero_grad forward backward update") == "update_without_step");
  CHECK(mistakes_of("zero_grad forward backward zero_grad step") == "step_without_backward");
}

TEST_CASE("an update between making gradients and unscaling them is named") {
  CHECK(mistakes_of("zero_grad:1 zero_grad:2 forward backward step:1 update step:2 update") ==
        "unscale_after_update");
  CHECK(mistakes_of("zero_grad forward backward step update step") == "double_step");
}

TEST_CASE("an update between unscaling and the step, which divides again, is named") {
  CHECK(mistakes_of("zero_grad forward backward unscale clip update step update") ==
        "update_after_unscale");
  CHECK(mistakes_of("zero_grad forward backward unscale update unscale step update") ==
        "update_after_unscale");
  CHECK(mistakes_of("zero_grad:1 zero_grad:2 forward backward unscale:1 unscale:2 step:1 update "
                    "step:2 update") == "update_after_unscale");
  CHECK(mistakes_of("zero_grad forward backward step update unscale") == "unscale_after_step");
}

TEST_CASE("accumulating over an update is named") {
  CHECK(mistakes_of("zero_grad:1 zero_grad:2 forward backward step:2 update forward backward "
                    "step:1 update") == "backward_over_update");
}

TEST_CASE("a backward pass without a forward pass since update is named") {
  CHECK(mistakes_of("zero_grad backward step update") == "backward_without_forward");
}

TEST_CASE("loops without a scaler, and optimizers beside one, have no mistake") {
  const std::string step = "zero_grad plain_backward clip plain_step ";
  CHECK(mistakes_of(step + step + step) == "");
  CHECK(mistakes_of("zero_grad plain_backward plain_backward clip plain_step " + step) == "");
  CHECK(
      mistakes_of("plain_backward clip:1 clip:2 plain_step:1 plain_step:2 zero_grad:1 zero_grad:2 "
                  "plain_backward plain_step:1 plain_step:2") == "");
  const std::string beside =
      "zero_grad:1 zero_grad:2 forward backward plain_backward step:1 update plain_step:2 ";
  CHECK(mistakes_of(beside + beside) == "");
  // unscaled by the scaler, and stepped without it
  const std::string by_hand = "zero_grad forward backward unscale clip plain_step update ";
  CHECK(mistakes_of(by_hand + by_hand) == "");
}

TEST_CASE("mistakes without a scaler are named") {
  CHECK(mistakes_of("zero_grad plain_backward plain_step clip") == "clip_after_step");
  CHECK(mistakes_of("plain_backward zero_grad plain_step") == "step_without_backward");
  CHECK(mistakes_of("zero_grad plain_backward plain_step plain_step") == "double_step");
  CHECK(mistakes_of("plain_backward plain_step plain_backward plain_step") ==
        "backward_without_zero_grad");
}

TEST_CASE("a loss that was not scaled and a step that goes past the scaler are named") {
  CHECK(mistakes_of("zero_grad forward plain_backward step update") == "backward_without_scale");
  CHECK(mistakes_of("zero_grad forward plain_backward unscale step update") ==
        "backward_without_scale");
  CHECK(mistakes_of("zero_grad forward backward plain_step") == "step_with_scaled_gradients");
  CHECK(mistakes_of("zero_grad forward backward clip plain_step") ==
        "clip_before_unscale step_with_scaled_gradients");
}

TEST_CASE("stepping past the scaler and then through it is stepping twice") {
  CHECK(mistakes_of("zero_grad forward backward unscale plain_step step update") == "double_step");
  CHECK(mistakes_of("zero_grad forward backward unscale clip plain_step step update") ==
        "double_step");
  CHECK(mistakes_of("zero_grad forward backward unscale plain_step plain_backward step update") ==
        "backward_without_zero_grad");
}

TEST_CASE("a loss that was not scaled, after unscaling, adds gradients of the same scale") {
  CHECK(mistakes_of("zero_grad forward backward unscale plain_backward clip step update") == "");
  CHECK(mistakes_of("zero_grad forward backward accumulate unscale plain_backward accumulate clip "
                    "step update") == "");
  CHECK(mistakes_of("zero_grad forward backward unscale update plain_backward clip") == "");
  CHECK(mistakes_of("zero_grad forward backward unscale backward clip") == "clip_before_unscale");
  CHECK(mistakes_of("zero_grad forward backward unscale backward plain_step") ==
        "backward_after_unscale");
}

TEST_CASE("a loss that was not scaled beside one that was is named where both reached gradients") {
  for (const std::string both : {"forward backward accumulate plain_backward accumulate ",
                                 "forward plain_backward accumulate backward accumulate "}) {
    CHECK(mistakes_of("zero_grad " + both + "step update") == "plain_beside_scaled");
    CHECK(mistakes_of("zero_grad " + both + "unscale clip step update") == "plain_beside_scaled");
    CHECK(mistakes_of("zero_grad " + both + "plain_step update") ==
          "step_with_scaled_gradients update_without_step");
  }
  const std::string beside =
      "zero_grad:1 zero_grad:2 forward backward accumulate:1 plain_backward accumulate:2 ";
  CHECK(mistakes_of(beside + "clip:1 step:1 update") == "clip_before_unscale");
  CHECK(mistakes_of(beside + "step:1 update clip:2 plain_step:2") == "");
  CHECK(mistakes_of("zero_grad:1 zero_grad:2 forward backward accumulate:1 unscale:1 backward "
                    "accumulate:2 clip:1 step:1 step:2 update") == "");
}

TEST_CASE("gradients that were stepped with already are a warning") {
  CHECK(mistakes_of("zero_grad forward backward step update forward backward step update") ==
        "backward_without_zero_grad");
  OrderChecker checker;
  std::vector<OrderFinding> findings;
  for (int i = 0; i < 2; ++i) {
    for (const auto event : {TrainingEvent::forward, TrainingEvent::backward, TrainingEvent::step,
                             TrainingEvent::update}) {
      for (const OrderFinding& finding : checker.on(event, 1)) findings.push_back(finding);
    }
  }
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().warning);
  CHECK(findings.front().event == 6);
  CHECK(findings.front().optimizer == 1);
}

TEST_CASE("gradients that are set to zero before any step, again and again, are a warning") {
  const std::string pass = "zero_grad plain_backward ";
  const std::string accumulated = pass + pass + pass + "clip plain_step ";
  CHECK(mistakes_of(accumulated + accumulated) == "");
  CHECK(mistakes_of(accumulated + accumulated + accumulated + accumulated) ==
        "zero_grad_without_step");
  const std::string scaled =
      "zero_grad forward backward zero_grad forward backward unscale clip step update ";
  CHECK(mistakes_of(scaled + scaled + scaled) == "zero_grad_without_step");
  CHECK(mistakes_of("plain_backward zero_grad plain_step plain_backward zero_grad plain_step "
                    "plain_backward zero_grad plain_step") ==
        "step_without_backward step_without_backward step_without_backward");
  // a guard that leaves a step out now and then
  const std::string plain = pass + "plain_step ";
  CHECK(mistakes_of(pass + plain + pass + plain + plain + pass + plain + pass + plain) == "");
  // parameters moved by hand between the two passes of a step, and gradients that did not reach
  // this optimizer
  const std::string sharp = pass + "use " + pass + "plain_step ";
  CHECK(mistakes_of(sharp + sharp + sharp + sharp) == "");
  // what the generator's loss leaves in the discriminator's gradients
  const std::string adversarial =
      "zero_grad:1 plain_backward plain_step:1 zero_grad:2 plain_backward plain_step:2 ";
  CHECK(mistakes_of(adversarial + adversarial + adversarial + adversarial) == "");
  // an optimizer that clears its gradients at every step of another one, and steps at every second
  const std::string both = "zero_grad:1 zero_grad:2 plain_backward plain_step:1 ";
  const std::string seldom = both + both + "plain_step:2 ";
  CHECK(mistakes_of(seldom + seldom + seldom + seldom) == "");
}

TEST_CASE(
    "the mistakes other than the last two are no warnings, and every one has a name of its own") {
  OrderChecker checker;
  const std::vector<OrderFinding> findings = checker.on(TrainingEvent::plain_step, 7);
  REQUIRE(findings.size() == 1);
  CHECK_FALSE(findings.front().warning);
  for (int i = 0; i < 19; ++i) {
    for (int j = 0; j < i; ++j) {
      CHECK(order_mistake_name(static_cast<OrderMistake>(i)) !=
            order_mistake_name(static_cast<OrderMistake>(j)));
    }
  }
  CHECK(order_mistake_name(OrderMistake::clip_before_unscale) == "clip_before_unscale");
  CHECK(order_mistake_name(OrderMistake::unscale_after_update) == "unscale_after_update");
  CHECK(order_mistake_name(OrderMistake::backward_without_zero_grad) ==
        "backward_without_zero_grad");
}

}  // namespace
}  // namespace binade::test::order_checker_test
