// SPDX-License-Identifier: Apache-2.0
//
// Which names tell a step, a layer and a role.
#include "lib/report/tensor_time.h"

#include <doctest/doctest.h>

namespace binade::tensor_time_test {
namespace {

TEST_CASE("a name tells its step, layer and role") {
  CHECK(tensor_time("step000440/fc1/dW") == TensorTime{440, "fc1", TensorRole::d_weight});
  CHECK(tensor_time("step7/blocks.0.attn.qkv/weight") ==
        TensorTime{7, "blocks.0.attn.qkv", TensorRole::weight});
  CHECK(tensor_time("step0/a/b/c/act") == TensorTime{0, "a/b/c", TensorRole::act});
  CHECK(tensor_time("step1/dAct/dAct") == TensorTime{1, "dAct", TensorRole::d_act});
  CHECK(tensor_time("step1/x/update")->role == TensorRole::update);
}

TEST_CASE("steps have any number of digits up to 2^53") {
  CHECK(tensor_time("step00000000000000000000000000012/x/act")->step == 12);
  CHECK(tensor_time("step9007199254740992/x/act")->step == std::uint64_t{1} << 53);
  CHECK_FALSE(tensor_time("step9007199254740993/x/act"));
  CHECK_FALSE(tensor_time("step99999999999999999999999/x/act"));
}

TEST_CASE("any other name tells nothing") {
  for (const char* name : {"",
                           "step",
                           "step1",
                           "step1/",
                           "step1//act",
                           "step1/act",
                           "step/x/act",
                           "step-1/x/act",
                           "step+1/x/act",
                           "step 1/x/act",
                           "step1x/x/act",
                           "step0x1/x/act",
                           "Step1/x/act",
                           " step1/x/act",
                           "step1/x/Act",
                           "step1/x/dact",
                           "step1/x/act ",
                           "step1/x/",
                           "step1/x/grad",
                           "early/fc1.weight.grad",
                           "run/step1/x/act"}) {
    INFO(name);
    CHECK_FALSE(tensor_time(name));
  }
}

}  // namespace
}  // namespace binade::tensor_time_test
