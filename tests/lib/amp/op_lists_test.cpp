// SPDX-License-Identifier: Apache-2.0
//
// The op lists: known members, counts for each policy, and ops that one might expect but that are
// not on them.
#include "lib/amp/op_lists.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "lib/text/error.h"

namespace binade::test::op_lists_test {
namespace {

std::size_t count_of(std::span<const ListedOp> list, CastPolicy policy) {
  return static_cast<std::size_t>(
      std::ranges::count_if(list, [policy](const ListedOp& op) { return op.policy == policy; }));
}

bool has_duplicates(std::span<const ListedOp> list) {
  std::set<std::string_view> names;
  for (const ListedOp& op : list) names.insert(op.name);
  return names.size() != list.size() || names.contains("");
}

TEST_CASE("no op is on a list twice") {
  for (const DeviceType device : device_types) CHECK_FALSE(has_duplicates(op_list(device)));
  CHECK_FALSE(has_duplicates(apex_op_list()));
}

TEST_CASE("a list is grouped by policy in the order of the enumeration") {
  for (const DeviceType device : device_types) {
    CHECK(std::ranges::is_sorted(op_list(device), {}, &ListedOp::policy));
  }
  CHECK(std::ranges::is_sorted(apex_op_list(), {}, &ListedOp::policy));
}

TEST_CASE("CUDA's list has as many names of each policy as its source") {
  const auto list = op_list(DeviceType::cuda);
  CHECK(count_of(list, CastPolicy::lower_precision_fp) == 35);
  CHECK(count_of(list, CastPolicy::fp32) == 55);
  CHECK(count_of(list, CastPolicy::fp32_set_opt_dtype) == 8);
  CHECK(count_of(list, CastPolicy::fp32_append_dtype) == 1);
  CHECK(count_of(list, CastPolicy::promote) == 11);
  CHECK(count_of(list, CastPolicy::banned) == 1);
  CHECK(count_of(list, CastPolicy::unlisted) == 0);
}

TEST_CASE("XPU's list is CUDA's without cuDNN's two names") {
  CHECK(op_list(DeviceType::xpu).size() + 3 == op_list(DeviceType::cuda).size());
  CHECK(cast_policy(DeviceType::cuda, "cudnn_convolution") == CastPolicy::lower_precision_fp);
  CHECK(cast_policy(DeviceType::xpu, "cudnn_convolution") == CastPolicy::unlisted);
}

TEST_CASE("MPS's list has as many names of each policy as its source, and no dtype arguments") {
  const auto list = op_list(DeviceType::mps);
  CHECK(count_of(list, CastPolicy::lower_precision_fp) == 25);
  CHECK(count_of(list, CastPolicy::fp32) == 53);
  CHECK(count_of(list, CastPolicy::promote) == 10);
  CHECK(list.size() == 88);
}

TEST_CASE("MPS casts softmax and sum as plain fp32, bans nothing and does not list norm") {
  CHECK(cast_policy(DeviceType::mps, "softmax") == CastPolicy::fp32);
  CHECK(cast_policy(DeviceType::mps, "sum") == CastPolicy::fp32);
  CHECK(cast_policy(DeviceType::mps, "binary_cross_entropy") == CastPolicy::unlisted);
  CHECK(cast_policy(DeviceType::mps, "norm") == CastPolicy::unlisted);
  CHECK(cast_policy(DeviceType::mps, "vdot") == CastPolicy::unlisted);
}

TEST_CASE("on MPS alone batch_norm and conv_transpose3d run in binary32, conv3d low") {
  CHECK(cast_policy(DeviceType::mps, "batch_norm") == CastPolicy::fp32);
  CHECK(cast_policy(DeviceType::mps, "conv_transpose3d") == CastPolicy::fp32);
  CHECK(cast_policy(DeviceType::cuda, "conv_transpose3d") == CastPolicy::lower_precision_fp);
  CHECK(cast_policy(DeviceType::mps, "conv3d") == CastPolicy::lower_precision_fp);
  CHECK(cast_policy(DeviceType::mps, "_mps_convolution") == CastPolicy::lower_precision_fp);
}

TEST_CASE("a row tells the file that has it") {
  CHECK(listed_op(DeviceType::cuda, "linear")->source == "autocast_mode.h");
  CHECK(listed_op(DeviceType::cuda, "cudnn_convolution")->source == "autocast_mode.cpp");
  CHECK(listed_op(DeviceType::cuda, "binary_cross_entropy")->source == "autocast_mode.cpp");
  CHECK(listed_op(DeviceType::cpu, "linear")->source == "autocast_mode.cpp");
  CHECK(listed_op(DeviceType::mps, "linear")->source == "autocast_mode.cpp");
  CHECK(apex_listed_op("linear")->source == "functional_overrides.py");
  CHECK(apex_listed_op("mm")->source == "torch_overrides.py");
  CHECK(apex_listed_op("__matmul__")->source == "tensor_overrides.py");
  CHECK_FALSE(listed_op(DeviceType::cuda, "relu"));
  CHECK_FALSE(apex_listed_op("relu"));
}

TEST_CASE("a later version's names are not on the list, an earlier one's lacking names are") {
  for (const OpListChange& change : op_list_changes()) {
    CAPTURE(change.op);
    CHECK(listed_op(change.device, change.op).has_value() == change.what.starts_with("unlisted"));
  }
  CHECK(op_list_changes().size() == 10);
}

TEST_CASE("linear runs low and mse_loss in binary32 on every device") {
  for (const DeviceType device : device_types) {
    CHECK(cast_policy(device, "linear") == CastPolicy::lower_precision_fp);
    CHECK(cast_policy(device, "mse_loss") == CastPolicy::fp32);
  }
}

TEST_CASE("mean, var, std, batch_norm, div, max, min, relu and add are on no list of CUDA") {
  for (const char* op : {"mean", "var", "std", "batch_norm", "div", "max", "min", "relu", "add"}) {
    CHECK(cast_policy(DeviceType::cuda, op) == CastPolicy::unlisted);
  }
}

TEST_CASE("softmax, sum, layer_norm and exp are on CUDA's list and not on the CPU's") {
  CHECK(cast_policy(DeviceType::cuda, "softmax") == CastPolicy::fp32_set_opt_dtype);
  CHECK(cast_policy(DeviceType::cuda, "sum") == CastPolicy::fp32_set_opt_dtype);
  CHECK(cast_policy(DeviceType::cuda, "layer_norm") == CastPolicy::fp32);
  CHECK(cast_policy(DeviceType::cuda, "exp") == CastPolicy::fp32);
  for (const char* op : {"softmax", "sum", "layer_norm", "exp"}) {
    CHECK(cast_policy(DeviceType::cpu, op) == CastPolicy::unlisted);
  }
}

TEST_CASE("binary_cross_entropy is banned on CUDA and XPU and runs in binary32 on the CPU") {
  CHECK(cast_policy(DeviceType::cuda, "binary_cross_entropy") == CastPolicy::banned);
  CHECK(cast_policy(DeviceType::xpu, "binary_cross_entropy") == CastPolicy::banned);
  CHECK(cast_policy(DeviceType::cpu, "binary_cross_entropy") == CastPolicy::fp32);
  CHECK(apex_cast_policy("binary_cross_entropy") == CastPolicy::banned);
}

TEST_CASE("cat promotes on the CPU and in Apex and is unlisted on CUDA") {
  CHECK(cast_policy(DeviceType::cpu, "cat") == CastPolicy::promote);
  CHECK(apex_cast_policy("cat") == CastPolicy::promote);
  CHECK(cast_policy(DeviceType::cuda, "cat") == CastPolicy::unlisted);
}

TEST_CASE("Apex runs var and std in binary32, add promotes, mean is unlisted") {
  CHECK(apex_cast_policy("var") == CastPolicy::fp32);
  CHECK(apex_cast_policy("std") == CastPolicy::fp32);
  CHECK(apex_cast_policy("add") == CastPolicy::promote);
  CHECK(apex_cast_policy("mean") == CastPolicy::unlisted);
  CHECK(apex_cast_policy("__matmul__") == CastPolicy::lower_precision_fp);
}

TEST_CASE("a prefix of a name or two names are no name") {
  CHECK(cast_policy(DeviceType::cuda, "conv") == CastPolicy::unlisted);
  CHECK(cast_policy(DeviceType::cuda, "mm mv") == CastPolicy::unlisted);
  CHECK(cast_policy(DeviceType::cuda, "") == CastPolicy::unlisted);
}

TEST_CASE("only a banned op has a reason") {
  CHECK(banned_reason("binary_cross_entropy").find("are unsafe to autocast") != std::string::npos);
  CHECK_THROWS_AS(banned_reason("linear"), Error);
}

}  // namespace
}  // namespace binade::test::op_lists_test
