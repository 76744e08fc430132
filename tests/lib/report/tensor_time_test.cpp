// SPDX-License-Identifier: Apache-2.0
//
// The place in time that a tensor's name tells: its step, layer and role.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>

#include "lib/report/tensor_role.h"

namespace binade::tensor_time_test {
namespace {

std::optional<TensorTime> time_of(std::string_view name) {
  return tensor_time(name, role_of(name));
}

TEST_CASE("a name tells step, layer and role") {
  CHECK(time_of("step000440/fc1/dW") == TensorTime{440, "fc1", TensorRole::d_weight});
  CHECK(time_of("step7/blocks.0.attn.qkv/weight") ==
        TensorTime{7, "blocks.0.attn.qkv", TensorRole::weight});
  CHECK(time_of("step0/a/b/c/act") == TensorTime{0, "a/b/c", TensorRole::act});
  CHECK(time_of("step1/dAct/dAct") == TensorTime{1, "dAct", TensorRole::d_act});
  CHECK(time_of("step1/x/update") == TensorTime{1, "x", TensorRole::update});
  CHECK(time_of("step1/x/Grad") == TensorTime{1, "x", TensorRole::gradient});
  CHECK(time_of("step1/x/weight.grad") == TensorTime{1, "x", TensorRole::d_weight});
}

TEST_CASE("parameters, their gradients, updates and states share a layer") {
  CHECK(time_of("step1/fc1.weight") == TensorTime{1, "fc1.weight", TensorRole::weight});
  CHECK(time_of("step1/fc1.weight.grad") == TensorTime{1, "fc1.weight", TensorRole::d_weight});
  CHECK(time_of("step1/fc1.weight_grad") == TensorTime{1, "fc1.weight", TensorRole::d_weight});
  CHECK(time_of("step1/grad/fc1.weight") == TensorTime{1, "fc1.weight", TensorRole::d_weight});
  CHECK(time_of("step1/fc1.weight.main_grad") == TensorTime{1, "fc1.weight", TensorRole::d_weight});
  CHECK(time_of("step1/fc1.weight.update") == TensorTime{1, "fc1.weight", TensorRole::update});
  CHECK(time_of("step1/fc1.weight.exp_avg") == TensorTime{1, "fc1.weight", TensorRole::state});
  CHECK(time_of("step1/m/fc1.weight.grad") == TensorTime{1, "m/fc1.weight", TensorRole::d_weight});
  CHECK(time_of("step1/dW1") == TensorTime{1, "1", TensorRole::d_weight});
  CHECK(time_of("step1/act") == TensorTime{1, "act", TensorRole::act});
  // Flax and Keras: the kernel is the layer's weight, a bias is apart; collections are no layers.
  for (const char* name : {"step1/params/fc1/kernel", "step1/fc1/kernel", "step1/fc1/weight",
                           "step1/weights/fc1", "step1/fc1/params"}) {
    CAPTURE(std::string(name));
    CHECK(time_of(name) == TensorTime{1, "fc1", TensorRole::weight});
  }
  for (const char* name : {"step1/updates/fc1/kernel", "step1/fc1/kernel/update",
                           "step1/updates/fc1", "step1/fc1/weight/update", "step1/fc1/update"}) {
    CAPTURE(std::string(name));
    CHECK(time_of(name) == TensorTime{1, "fc1", TensorRole::update});
  }
  for (const char* name : {"step1/fc1/kernel.grad", "step1/fc1/kernel/grad", "step1/fc1/dW",
                           "step1/grads/fc1/kernel", "step1/fc1/weight.grad"}) {
    CAPTURE(std::string(name));
    CHECK(time_of(name) == TensorTime{1, "fc1", TensorRole::d_weight});
  }
  CHECK(time_of("step1/params/fc1/bias") == TensorTime{1, "fc1/bias", TensorRole::weight});
  CHECK(time_of("step1/fc1/bias.grad") == TensorTime{1, "fc1/bias", TensorRole::d_weight});
  CHECK(time_of("step1/fc1/bias/grad") == TensorTime{1, "fc1/bias", TensorRole::d_weight});
  CHECK(time_of("step1/fc1.grad_output.0") == TensorTime{1, "fc1", TensorRole::d_act});
  CHECK(time_of("step1/fc1.grad_output.1") == TensorTime{1, "fc1.1", TensorRole::d_act});
}

TEST_CASE("steps have any number of digits up to 2^53") {
  CHECK(time_of("step00000000000000000000000000012/x/act")->step == 12);
  CHECK(time_of("step9007199254740992/x/act")->step == std::uint64_t{1} << 53);
  CHECK_FALSE(time_of("step9007199254740993/x/act"));
  CHECK_FALSE(time_of("step99999999999999999999999/x/act"));
}

TEST_CASE("any other name tells no time") {
  for (const char* name : {"", "step", "step1", "step1/", "step1//act", "step1/grad", "step1/x",
                           "step1/x/", "step/x/act", "step-1/x/act", "step+1/x/act", "step 1/x/act",
                           "step1x/x/act", "step0x1/x/act", "Step1/x/act", " step1/x/act",
                           "step1/x/act ", "early/fc1.weight.grad", "run/step1/x/act"}) {
    CAPTURE(name);
    CHECK_FALSE(time_of(name));
  }
}

TEST_CASE("names that begin as a step's and tell no time are noticed") {
  for (const char* name : {"step1/x", "step10/loss", "step_10/fc1/dW", "step-3/fc1/dW", "step=3/x",
                           "iter3.loss", "epoch2/fc1/dW", "iteration_7:a", "step 1/x/act",
                           "Step10/fc1/dW", "global_step10/x", "run/step10/fc1/dW", "fc1/step10"}) {
    CAPTURE(name);
    CHECK(misses_time(name, time_of(name)));
  }
  for (const char* name : {"step10/fc1/dW", "step10/fc1.weight", "step", "steps/1", "step1",
                           "stepper.0.weight", "iterate", "epoch", "fc1.weight", ""}) {
    CAPTURE(name);
    CHECK_FALSE(misses_time(name, time_of(name)));
  }
}

}  // namespace
}  // namespace binade::tensor_time_test
