// SPDX-License-Identifier: Apache-2.0
//
// The state of a GradScaler: what it holds, that it comes back through JSON, and what is refused.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include "lib/amp/scaler_json.h"
#include "lib/text/error.h"
#include "tests/lib/amp/used_scaler.h"

namespace binade::test::grad_scaler_state_test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

TEST_CASE("the state is PyTorch's five entries, and comes back") {
  GradScaler scaler = used_scaler();
  Counted optimizer(1, {1});
  scaler.step(optimizer.view);
  scaler.update();
  const auto state = grad_scaler_json(scaler);
  CHECK(state.dump() == R"({"scale":65536.0,"growth_factor":2.0,"backoff_factor":0.5,)"
                        R"("growth_interval":2000,"_growth_tracker":1})");
  LossScalePolicy other = loss_scale_policy("torch");
  other.init_scale = 2;
  other.growth_interval = 7;
  GradScaler loaded(other);
  load_grad_scaler_json(loaded, nlohmann::json::parse(state.dump()));
  CHECK(grad_scaler_json(loaded) == state);
  CHECK(loaded.get_growth_interval() == 2000);
  CHECK_THROWS_AS(loaded.update(), Error);  // its scale was not used yet
}

TEST_CASE("an infinite scale survives its JSON") {
  GradScaler scaler(loss_scale_policy("megatron"));
  scaler.scale_loss(1);
  scaler.update(std::numeric_limits<float>::infinity());
  const auto state = nlohmann::json::parse(grad_scaler_json(scaler).dump());
  CHECK(state["scale"] == "inf");
  GradScaler again(loss_scale_policy("megatron"));
  load_grad_scaler_json(again, state);
  again.scale_loss(1);
  CHECK(std::isinf(again.get_scale()));
  GradScaler torch, loaded;
  torch.scale_loss(1);
  torch.update(std::numeric_limits<float>::infinity());
  load_grad_scaler_json(loaded, nlohmann::json::parse(grad_scaler_json(torch).dump()));
  CHECK(std::isinf(loaded.get_scale()));
}

TEST_CASE("before the first scale() the scale is the number that was given, after it its float") {
  LossScalePolicy policy = loss_scale_policy("torch");
  policy.init_scale = 0.1;
  GradScaler scaler(policy);
  CHECK(scaler.get_scale() == 0.1);
  CHECK(grad_scaler_json(scaler)["scale"] == 0.1);
  scaler.scale_loss(1);
  CHECK(scaler.get_scale() == static_cast<double>(0.1F));
  GradScaler loaded;
  load_grad_scaler_json(loaded, nlohmann::json{{"scale", 0.3},
                                               {"growth_factor", 2.0},
                                               {"backoff_factor", 0.5},
                                               {"growth_interval", 2000},
                                               {"_growth_tracker", 0}});
  CHECK(loaded.get_scale() == 0.3);
}

TEST_CASE("an empty or a wrong state is refused and changes nothing") {
  GradScaler scaler;
  CHECK_THROWS_WITH_AS(
      load_grad_scaler_json(scaler, nlohmann::json::object()),
      "The source state dict is empty, possibly because it was saved from a disabled "
      "instance of GradScaler.",
      Error);
  CHECK_THROWS_AS(load_grad_scaler_json(scaler, nlohmann::json::parse(R"({"scale":1})")), Error);
  CHECK_THROWS_AS(
      load_grad_scaler_json(
          scaler, nlohmann::json::parse(
                      R"({"scale":"1","growth_factor":4,"backoff_factor":0.5,"growth_interval":1,)"
                      R"("_growth_tracker":1})")),
      Error);
  CHECK(scaler.get_growth_factor() == 2);
}

TEST_CASE("a disabled scaler has an empty state and takes any without a change") {
  GradScaler scaler(loss_scale_policy("torch"), {.enabled = false});
  CHECK(grad_scaler_json(scaler).dump() == "{}");
  CHECK_NOTHROW(load_grad_scaler_json(scaler, nlohmann::json::parse("{\"scale\": 5}")));
  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.get_growth_tracker() == 0);
}

TEST_CASE("another policy's state keeps what that policy remembers") {
  GradScaler scaler = used_scaler(loss_scale_policy("megatron"));
  Counted bad(1, {inf});
  scaler.step(bad.view);
  scaler.update();
  CHECK(scaler.get_scale() == 0x1p32F);  // tolerated
  GradScaler loaded = used_scaler(loss_scale_policy("megatron"));
  load_grad_scaler_json(loaded, nlohmann::json::parse(grad_scaler_json(scaler).dump()));
  loaded.step(bad.view);
  loaded.update();
  CHECK(loaded.get_scale() == 0x1p31F);
  GradScaler torch = used_scaler();
  CHECK_NOTHROW(load_grad_scaler_json(torch, grad_scaler_json(scaler)));
  CHECK_THROWS_AS(load_grad_scaler_json(scaler, grad_scaler_json(torch)), Error);
}

}  // namespace
}  // namespace binade::test::grad_scaler_state_test
