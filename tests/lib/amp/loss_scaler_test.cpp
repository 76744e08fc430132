// SPDX-License-Identifier: Apache-2.0
//
// What loss_scaler_oracle_test.py, which compares every row with an implementation from the
// frameworks' sources, does not reach: policies that change, static scales, refusals, states.
#include "lib/amp/loss_scaler.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string>

#include "lib/amp/scaler_json.h"
#include "lib/text/error.h"

namespace binade::test::loss_scaler_test {
namespace {

TEST_CASE(
    "PyTorch grows by equality: an interval lowered below the tracker never fires, Keras 2's "
    "does") {
  for (const char* name : {"torch", "keras2"}) {
    LossScaler scaler(loss_scale_policy(name));
    const float start = scaler.scale();
    for (int i = 0; i < 100; ++i) scaler.update(false);
    LossScalePolicy policy = scaler.policy();
    policy.growth_interval = 50;
    scaler.set_policy(policy);
    scaler.update(false);
    CHECK(scaler.scale() == (std::string(name) == "torch" ? start : 2 * start));
  }
}

TEST_CASE("the products are rounded as the originals round them") {
  // 1.1 in binary64 times binary32, rounded once (ATen), or 1.1 rounded to binary32 first (Keras).
  const double start = 3;
  struct Row {
    const char* policy;
    double expected;
  };
  for (const Row& row : {Row{"torch", static_cast<double>(static_cast<float>(3 * 1.1))},
                         Row{"keras3", static_cast<double>(3.0F * 1.1F)}, Row{"apex", 3 * 1.1}}) {
    CAPTURE(row.policy);
    LossScalePolicy policy = loss_scale_policy(row.policy);
    policy.init_scale = start;
    policy.growth_factor = 1.1;
    policy.growth_interval = 1;
    LossScaler scaler(policy);
    scaler.update(false);
    CHECK(scaler.state().scale == row.expected);
  }
  CHECK(static_cast<double>(static_cast<float>(3 * 1.1)) != static_cast<double>(3.0F * 1.1F));
}

TEST_CASE("a late policy's state comes back with what is decided and not yet in use") {
  LossScaler scaler(loss_scale_policy("mxnet"));
  scaler.update(true);
  const std::string text = loss_scaler_json(scaler.state()).dump();
  LossScaler again(loss_scale_policy("mxnet"));
  again.set_state(loss_scaler_state(nlohmann::json::parse(text)));
  again.update(false);
  CHECK(again.scale() == 32768);
}

TEST_CASE("a static scale and none never look") {
  LossScaler scaler(loss_scale_policy("static:1024"));
  CHECK(scaler.scale() == 1024);
  CHECK(scaler.update(true));
  CHECK(scaler.scale() == 1024);
  CHECK(LossScaler(loss_scale_policy("none")).scale() == 1);
  CHECK(static_policy(0x1p127).init_scale == 0x1p127);
  CHECK(static_policy(0x1p-126).init_scale == 0x1p-126);
  for (const double scale : {0.0, -1.0, 0x1p-127, 0x1.000001p127, 1e300, HUGE_VAL, std::nan("")}) {
    CAPTURE(scale);
    CHECK_THROWS_AS(static_policy(scale), Error);
  }
  CHECK_THROWS_WITH_AS(loss_scale_policy("static:1e300"),
                       "static loss scale 1e+300: give a number from 2^-126 to 2^127", Error);
  CHECK_THROWS_AS(loss_scale_policy("static:"), Error);
  CHECK_THROWS_AS(loss_scale_policy("static:1x"), Error);
  CHECK_THROWS_AS(loss_scale_policy("amp"), Error);
}

TEST_CASE("a policy that counts multiples refuses an interval of 0") {
  LossScalePolicy policy = loss_scale_policy("deepspeed");
  policy.growth_interval = 0;
  CHECK_THROWS_AS(LossScaler{policy}, Error);
}

TEST_CASE(
    "a state read back continues as the one that was written, for every row and point of time") {
  for (const LossScalePolicy& policy : loss_scale_policies()) {
    CAPTURE(policy.name);
    LossScaler whole(policy);
    const auto found_inf = [](int step) { return step % 700 == 3 || step % 701 == 3; };
    for (int step = 0; step < 4500; ++step) {
      if (step % 450 == 0) {
        LossScaler resumed(policy);
        resumed.set_state(
            loss_scaler_state(nlohmann::json::parse(loss_scaler_json(whole.state()).dump())));
        CHECK(resumed.state() == whole.state());
        whole = resumed;
      }
      whole.update(found_inf(step));
    }
    LossScaler straight(policy);
    for (int step = 0; step < 4500; ++step) straight.update(found_inf(step));
    CHECK(straight.state() == whole.state());
  }
}

TEST_CASE("a scale that is infinite or NaN survives JSON") {
  LossScalerState state;
  state.scale = std::numeric_limits<double>::infinity();
  CHECK(loss_scaler_state(nlohmann::json::parse(loss_scaler_json(state).dump())) == state);
  state.scale = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(loss_scaler_state(nlohmann::json::parse(loss_scaler_json(state).dump())).scale));
}

TEST_CASE("a state that is none is refused") {
  for (const char* text :
       {"{}", "[]", "1", R"({"scale":"x"})", R"({"scale":1})", R"({"scale":-1,"growth_tracker":0})",
        R"({"scale":1,"growth_tracker":-1})",
        R"({"scale":1,"growth_tracker":18446744073709551615})",
        R"({"scale":1,"growth_tracker":0.5})"}) {
    CHECK_THROWS_AS(loss_scaler_state(nlohmann::json::parse(text)), Error);
  }
}

}  // namespace
}  // namespace binade::test::loss_scaler_test
