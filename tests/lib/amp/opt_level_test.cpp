// SPDX-License-Identifier: Apache-2.0
//
// The rows of Apex's presets against apex/amp/frontend.py, and names that are no preset.
#include "lib/amp/opt_level.h"

#include <doctest/doctest.h>

#include "lib/amp/loss_scaler.h"
#include "lib/text/error.h"

namespace binade::test::opt_level_test {
namespace {

TEST_CASE("O0 is binary32 throughout, O3 is binary16 throughout, both with scale 1") {
  const OptLevel& o0 = opt_level("O0");
  CHECK(o0.cast_model_type == binary32);
  CHECK(o0.loss_scale == 1.0F);
  CHECK(o0.master_weights == false);
  CHECK_FALSE(o0.patch_functions);
  CHECK_FALSE(o0.keep_batchnorm_fp32.has_value());
  const OptLevel& o3 = opt_level("O3");
  CHECK(o3.cast_model_type == binary16);
  CHECK(o3.keep_batchnorm_fp32 == false);
  CHECK(o3.master_weights == false);
  CHECK(o3.loss_scale == 1.0F);
}

TEST_CASE("O1 patches functions and leaves the model alone") {
  const OptLevel& o1 = opt_level("O1");
  CHECK_FALSE(o1.cast_model_type.has_value());
  CHECK(o1.patch_functions);
  CHECK_FALSE(o1.keep_batchnorm_fp32.has_value());
  CHECK_FALSE(o1.master_weights.has_value());
  CHECK_FALSE(o1.loss_scale.has_value());
}

TEST_CASE("O2 casts the model, keeps batch norm and masters in binary32 and scales dynamically") {
  const OptLevel& o2 = opt_level("O2");
  CHECK(o2.cast_model_type == binary16);
  CHECK_FALSE(o2.patch_functions);
  CHECK(o2.keep_batchnorm_fp32 == true);
  CHECK(o2.master_weights == true);
  CHECK_FALSE(o2.loss_scale.has_value());
  CHECK(o2.casts_outputs);
}

TEST_CASE("native is O1 with PyTorch's scaler, without a cap") {
  const OptLevel& native = opt_level("native");
  CHECK(native.patch_functions);
  CHECK_FALSE(native.cast_model_type.has_value());
  CHECK(native.scaler == "torch");
}

TEST_CASE("every level names a scaler that exists") {
  CHECK(opt_levels().size() == 6);
  for (const OptLevel& level : opt_levels()) CHECK_NOTHROW(loss_scale_policy(level.scaler));
}

TEST_CASE("a zero for the letter O is refused") {
  CHECK_THROWS_WITH_AS(opt_level("01"), doctest::Contains("the letter O"), Error);
  CHECK_THROWS_AS(opt_level("o1"), Error);
}

}  // namespace
}  // namespace binade::test::opt_level_test
