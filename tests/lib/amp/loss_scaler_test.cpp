// SPDX-License-Identifier: Apache-2.0
//
// A table of known results of the loss scale policies, each of whose columns is tested, and what
// distinguishes its rows. The figures were made by an independent implementation of the frameworks'
// sources.
#include "lib/amp/loss_scaler.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "lib/amp/scaler_json.h"
#include "lib/text/error.h"

namespace binade::test::loss_scaler_test {
namespace {

struct Golden {
  const char* policy;
  std::vector<int> growths;  ///< numbers of the steps of the first growths, without overflow
  int skips, burst;          ///< overflow iff S > 2^12, 20 000 steps
  int rare_log2;             ///< log2 S after 20 000 steps with an inf every 1500
  int next_growth;           ///< first growth after an inf at step 11
  int straight_log2;         ///< log2 S after 60 infs
  bool gives_up;
};

const std::vector<Golden> golden{
    {"torch", {2000, 4000}, 13, 4, 3, 2011, -44, false},
    {"apex", {2000, 4000}, 13, 4, 3, 2011, -44, false},
    {"keras3", {2000, 4000}, 12, 3, 2, 2011, -45, false},
    {"keras2", {2000, 4000}, 12, 3, 2, 2011, 0, false},
    {"jmp", {2000, 4000}, 12, 3, 2, 2011, 0, false},
    {"fairseq_class", {2000, 4000}, 12, 3, 2, 2011, -45, false},
    {"deepspeed", {1001, 2001, 3001}, 43, 5, 29, 1012, 0, true},
    {"megatron", {1000, 2000, 3000}, 59, 21, 45, 1011, 0, false},
};

/// The row, fairseq without its abort.
LossScaler scaler_of(const Golden& row) {
  LossScalePolicy policy = loss_scale_policy(row.policy);
  if (policy.name == "fairseq_class") policy.floor.reset();
  return LossScaler(policy);
}

TEST_CASE("golden table: the first growths of good steps") {
  for (const Golden& row : golden) {
    CAPTURE(row.policy);
    LossScaler scaler = scaler_of(row);
    std::vector<int> growths;
    for (int step = 1; growths.size() < row.growths.size() && step <= 5000; ++step) {
      const float before = scaler.scale();
      CHECK(scaler.update(false));
      if (scaler.scale() != before) {
        CHECK(scaler.scale() == 2 * before);
        growths.push_back(step);
      }
    }
    CHECK(growths == row.growths);
  }
}

TEST_CASE("golden table: skips where the gradients overflow above 2^12") {
  for (const Golden& row : golden) {
    CAPTURE(row.policy);
    LossScaler scaler = scaler_of(row);
    int skips = 0, burst = 0;
    bool in_burst = true;
    for (int step = 0; step < 20000; ++step) {
      const bool found_inf = scaler.scale() > 4096;
      in_burst = in_burst && found_inf;
      burst += in_burst ? 1 : 0;
      skips += scaler.update(found_inf) ? 0 : 1;
    }
    CHECK(skips == row.skips);
    CHECK(burst == row.burst);
  }
}

TEST_CASE("golden table: the scale after an inf every 1500 steps") {
  for (const Golden& row : golden) {
    CAPTURE(row.policy);
    LossScaler scaler = scaler_of(row);
    for (int step = 1; step <= 20000; ++step) scaler.update(step % 1500 == 0);
    CHECK(scaler.scale() == std::ldexp(1.0F, row.rare_log2));
  }
}

TEST_CASE("golden table: the next growth after an inf at step 11") {
  for (const Golden& row : golden) {
    CAPTURE(row.policy);
    LossScaler scaler = scaler_of(row);
    int next_growth = 0;
    for (int step = 1; step <= 5000 && next_growth == 0; ++step) {
      const float before = scaler.scale();
      scaler.update(step == 11);
      if (scaler.scale() > before) next_growth = step;
    }
    CHECK(next_growth == row.next_growth);
  }
}

TEST_CASE("golden table: the scale after 60 infs in a row, and who gives up") {
  for (const Golden& row : golden) {
    CAPTURE(row.policy);
    LossScaler scaler = scaler_of(row);
    bool gave_up = false;
    for (int step = 1; step <= 60; ++step) {
      try {
        scaler.update(true);
      } catch (const Error& error) {
        gave_up = true;
        CHECK(std::string(error.what()).find("gives up at its minimum") != std::string::npos);
      }
    }
    CHECK(scaler.scale() == std::ldexp(1.0F, row.straight_log2));
    CHECK(gave_up == row.gives_up);
  }
}

TEST_CASE("fairseq gives up above its minimum of 1e-4 and keeps the scale it had") {
  LossScaler scaler(loss_scale_policy("fairseq_class"));
  int steps = 0;
  CHECK_THROWS_AS(for (; steps < 60; ++steps) scaler.update(true), Error);
  CHECK(steps == 28);  // 2^15 / 2^28 = 2^-13 = 1.22e-4; the next would be 6.1e-5
  CHECK(scaler.scale() == 0x1p-13F);
}

TEST_CASE("fairseq with a tolerance backs off only from a larger share of infs") {
  LossScalePolicy policy = loss_scale_policy("fairseq_class");
  policy.tolerance = 0.25;
  LossScaler scaler(policy);
  for (int i = 0; i < 7; ++i) scaler.update(false);
  scaler.update(true);  // 1 of 8
  CHECK(scaler.scale() == 32768);
  scaler.update(true);  // 2 of 9
  CHECK(scaler.scale() == 32768);
  scaler.update(true);  // 3 of 10
  CHECK(scaler.scale() == 16384);
}

TEST_CASE("fairseq counts the infs since its last backoff, over growths") {
  LossScalePolicy policy = loss_scale_policy("fairseq_class");
  policy.tolerance = 0.3;
  policy.growth_interval = 5;
  LossScaler scaler(policy);
  // 1 of 4 updates since the start, a growth, then the second within 4: fairseq's own class ends
  // here.
  for (int i = 0; i < 32; ++i) scaler.update(i == 3 || i == 12);
  CHECK(scaler.scale() == 262144);
}

TEST_CASE("Megatron's tolerated inf comes back with a growth only, DeepSpeed's too") {
  for (const char* name : {"megatron", "deepspeed"}) {
    CAPTURE(name);
    LossScaler scaler(loss_scale_policy(name));
    const float start = scaler.scale();
    scaler.update(true);
    CHECK(scaler.scale() == start);
    for (int i = 0; i < 500; ++i) scaler.update(false);
    scaler.update(true);
    CHECK(scaler.scale() == start / 2);
    for (int i = 0; i < 1001; ++i) scaler.update(false);
    CHECK(scaler.scale() == start);
    scaler.update(true);
    CHECK(scaler.scale() == start);
  }
}

TEST_CASE("Paddle's tolerated infs come back with a good step and with a backoff") {
  LossScalePolicy policy = loss_scale_policy("paddle");
  policy.hysteresis = 2;
  LossScaler scaler(policy);
  scaler.update(true);
  scaler.update(false);
  scaler.update(true);
  CHECK(scaler.scale() == 65536);
  scaler.update(true);
  CHECK(scaler.scale() == 32768);
  scaler.update(true);
  CHECK(scaler.scale() == 32768);
  scaler.update(true);
  CHECK(scaler.scale() == 16384);
}

TEST_CASE(
    "Paddle's static graph stops at 1, MXNet grows to 2^24 and no further, OpenSeq2Seq begins "
    "there") {
  LossScaler paddle(loss_scale_policy("paddle_static")), mxnet(loss_scale_policy("mxnet")),
      backoff(loss_scale_policy("openseq2seq_backoff"));
  CHECK(backoff.scale() == 0x1p24F);
  for (int i = 0; i < 60; ++i) {
    paddle.update(true);
    backoff.update(true);
  }
  for (int i = 0; i < 40000; ++i) mxnet.update(false);
  CHECK(paddle.scale() == 1);
  CHECK(backoff.scale() == 1);
  CHECK(mxnet.scale() == 0x1p24F);
}

TEST_CASE("Apex stops at 2^24 and halves below 1") {
  LossScaler scaler(loss_scale_policy("apex"));
  for (int i = 0; i < 40000; ++i) scaler.update(false);
  CHECK(scaler.scale() == 0x1p24F);
}

TEST_CASE("PyTorch, Keras 2, jmp and Paddle stay finite where Keras 3 and Megatron grow to inf") {
  for (const char* name : {"torch", "keras2", "jmp", "paddle", "keras3", "megatron"}) {
    CAPTURE(name);
    LossScalePolicy policy = loss_scale_policy(name);
    policy.init_scale = 0x1p126;
    policy.growth_interval = 1;
    LossScaler scaler(policy);
    for (int i = 0; i < 5; ++i) scaler.update(false);
    CHECK(scaler.scale() ==
          (policy.grows_only_if_finite ? 0x1p127F : std::numeric_limits<float>::infinity()));
  }
  CHECK(loss_scale_policy("torch").grows_only_if_finite);
  CHECK_FALSE(loss_scale_policy("keras3").grows_only_if_finite);
}

TEST_CASE("PyTorch's scale underflows to 0, as nothing stops it") {
  LossScaler scaler(loss_scale_policy("torch"));
  for (int i = 0; i < 165; ++i) scaler.update(true);
  CHECK(scaler.scale() == 0x1p-149F);
  scaler.update(true);
  CHECK(scaler.scale() == 0);
}

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

TEST_CASE("MXNet's changed scale comes one step late") {
  LossScaler scaler(loss_scale_policy("mxnet"));
  std::vector<float> used;
  for (int i = 0; i < 5; ++i) {
    used.push_back(scaler.scale());
    scaler.update(i < 3);
  }
  // Each decision is taken from the scale in use: it ends one halving too low.
  CHECK(used == std::vector<float>{65536, 65536, 32768, 16384, 8192});
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

TEST_CASE("Apex begins at its cap where it is asked to begin above") {
  LossScalePolicy policy = loss_scale_policy("apex");
  policy.init_scale = 0x1p30;
  CHECK(LossScaler(policy).scale() == 0x1p24F);
}

TEST_CASE(
    "Paddle's eager class has no floor and no check for infinity, its static graph has both") {
  for (const bool is_static : {false, true}) {
    LossScalePolicy policy = loss_scale_policy(is_static ? "paddle_static" : "paddle");
    LossScaler low(policy);
    for (int i = 0; i < 30; ++i) low.update(true);
    CHECK(low.scale() == (is_static ? 1.0F : 0x1p-14F));
    policy.growth_interval = 1;
    LossScaler high(policy);
    for (int i = 0; i < 200; ++i) high.update(false);
    CHECK(std::isinf(high.scale()) == !is_static);
  }
}

TEST_CASE("fairseq and DeepSpeed have a row for their class and one for what users run") {
  CHECK(LossScaler(loss_scale_policy("fairseq")).scale() == 128);
  CHECK(loss_scale_policy("fairseq").growth_interval == 16384);
  CHECK(LossScaler(loss_scale_policy("fairseq_class")).scale() == 32768);
  CHECK(LossScaler(loss_scale_policy("deepspeed_class")).scale() == 0x1p32F);
  LossScaler scaler(loss_scale_policy("deepspeed_class"));
  scaler.update(true);
  CHECK(scaler.scale() == 0x1p31F);  // no hysteresis
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
