// SPDX-License-Identifier: Apache-2.0
//
// Autocast scopes: nesting, threads, the weight cache's epoch, and the decision for each policy.
#include "lib/amp/autocast.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "lib/text/error.h"

namespace binade::test::autocast_test {
namespace {

using Formats = std::vector<Format>;

std::optional<Format> cast_of(std::string_view op, const Formats& inputs) {
  return autocast_dtype(op, inputs);
}

TEST_CASE("outside of any scope nothing is cast and the epoch is 0") {
  CHECK_FALSE(cast_of("linear", {binary32, binary32}));
  CHECK(autocast_epoch() == 0);
  CHECK_FALSE(autocast_enabled(DeviceType::cuda));
  CHECK(autocast_cache_enabled());
}

TEST_CASE("the default formats are binary16 on CUDA, XPU and MPS and bfloat16 on the CPU") {
  for (const auto& [device, format] :
       {std::pair{DeviceType::cuda, binary16}, std::pair{DeviceType::cpu, bfloat16},
        std::pair{DeviceType::xpu, binary16}, std::pair{DeviceType::mps, binary16}}) {
    const Autocast scope(device);
    CHECK(cast_of("linear", {binary32}) == format);
  }
}

TEST_CASE("linear is cast low and mse_loss to binary32") {
  const Autocast scope(DeviceType::cuda);
  CHECK(cast_of("linear", {binary32, binary32, binary32}) == binary16);
  CHECK(cast_of("linear", {binary16, binary32}) == binary16);
  CHECK(cast_of("mse_loss", {binary16, binary32}) == binary32);
}

TEST_CASE("an unlisted op stays in its inputs' formats") {
  const Autocast scope(DeviceType::cuda);
  CHECK_FALSE(cast_of("relu", {binary16}));
  CHECK_FALSE(cast_of("add", {binary16, binary32}));
}

TEST_CASE("binary64 is not eligible") {
  const Autocast scope(DeviceType::cuda);
  CHECK_FALSE(cast_of("mm", {binary64, binary64}));
  CHECK(cast_of("mm", {binary64, binary32}) == binary16);  // only the other is cast
  CHECK_FALSE(cast_of("exp", {binary64}));
  CHECK_FALSE(cast_of("dot", {binary64, binary64}));
}

TEST_CASE("all formats but binary64 are eligible") {
  CHECK_FALSE(is_autocast_eligible(binary64));
  for (const Format& format : {binary32, bfloat16, e4m3}) CHECK(is_autocast_eligible(format));
}

TEST_CASE("ops with a dtype argument ask their first input only") {
  const Autocast scope(DeviceType::cuda);
  CHECK(cast_of("softmax", {binary16}) == binary32);
  CHECK(cast_of("norm", {binary16}) == binary32);
  CHECK_FALSE(cast_of("softmax", {binary64, binary16}));
  CHECK_FALSE(cast_of("sum", {}));
}

TEST_CASE("on MPS softmax asks any input, and binary_cross_entropy is not refused") {
  const Autocast scope(DeviceType::mps);
  CHECK(cast_of("softmax", {binary64, binary16}) == binary32);
  CHECK_FALSE(cast_of("binary_cross_entropy", {binary16, binary16}));
  CHECK(cast_of("dot", {binary16, binary32}) == binary32);
  CHECK_FALSE(autocast_enabled(DeviceType::cuda));
}

TEST_CASE("promote takes the widest, and binary64 does not count") {
  const Autocast scope(DeviceType::cuda);
  CHECK(cast_of("dot", {binary16, binary16}) == binary16);
  CHECK(cast_of("dot", {binary16, binary32}) == binary32);
  CHECK(cast_of("addcmul", {binary32, binary16, binary16}) == binary32);
  CHECK(cast_of("dot", {binary16, binary64}) == binary16);
}

TEST_CASE(
    "promote refuses a format that is neither the scope's nor binary32, unless binary32 came "
    "first") {
  const Autocast scope(DeviceType::cuda);
  CHECK_THROWS_WITH_AS(
      cast_of("dot", {binary16, bfloat16}),
      doctest::Contains("Unexpected floating ScalarType in at::autocast::prioritize"), Error);
  CHECK_THROWS_AS(cast_of("dot", {bfloat16, binary32}), Error);
  CHECK(cast_of("dot", {binary32, bfloat16}) == binary32);
}

TEST_CASE("a refusal calls a format of the user's own by its specification") {
  const Autocast scope(DeviceType::cuda, {.dtype = *find_format("binary16")});
  Format own = bfloat16;
  own.exponent_bits = 5;
  own.bias = 15;
  CHECK_THROWS_WITH_AS(cast_of("dot", {own}), doctest::Contains("e5m7 under autocast"), Error);
  CHECK_THROWS_WITH_AS(promote_types(e4m3, own), doctest::Contains("e4m3 and e5m7"), Error);
}

TEST_CASE("promote under autocast to binary64 is refused") {
  const Autocast scope(DeviceType::cuda, {.dtype = binary64});
  CHECK_THROWS_WITH_AS(cast_of("dot", {binary32}), doctest::Contains("promote type is double"),
                       Error);
}

TEST_CASE("a banned op is refused with PyTorch's reason, and only where autocast is enabled") {
  {
    const Autocast scope(DeviceType::cuda);
    CHECK_THROWS_WITH_AS(cast_of("binary_cross_entropy", {binary16, binary16}),
                         doctest::Contains("binary_cross_entropy_with_logits"), Error);
    const Autocast inner(DeviceType::cuda, {.enabled = false});
    CHECK_FALSE(cast_of("binary_cross_entropy", {binary16, binary16}));
  }
  const Autocast scope(DeviceType::cpu);
  CHECK(cast_of("binary_cross_entropy", {bfloat16, bfloat16}) == binary32);
}

TEST_CASE("any format may be the low one") {
  const Autocast scope(DeviceType::cuda, {.dtype = e4m3});
  CHECK(cast_of("linear", {binary32, binary32}) == e4m3);
  CHECK(cast_of("dot", {e4m3, binary32}) == binary32);
  CHECK_THROWS_AS(Autocast(DeviceType::cuda, {.dtype = Format{}}), Error);
}

TEST_CASE("a scope that is refused leaves the state as it was") {
  CHECK_THROWS_AS(Autocast(DeviceType::cuda, {.dtype = Format{}}), Error);
  CHECK(autocast_epoch() == 0);
  CHECK(autocast_low_dtype(DeviceType::cuda) == binary16);
}

TEST_CASE("an inner scope may disable, and the outer one comes back") {
  const Autocast outer(DeviceType::cuda, {.dtype = bfloat16});
  {
    const Autocast inner(DeviceType::cuda, {.enabled = false});
    CHECK_FALSE(cast_of("linear", {binary32}));
    {
      const Autocast innermost(DeviceType::cuda);
      CHECK(cast_of("linear", {binary32}) == bfloat16);  // inherits the surrounding format
    }
    CHECK_FALSE(cast_of("linear", {binary32}));
  }
  CHECK(cast_of("linear", {binary32}) == bfloat16);
}

TEST_CASE("a scope of another device leaves this device's alone") {
  const Autocast outer(DeviceType::cuda);
  const Autocast inner(DeviceType::cpu, {.enabled = false});
  const Formats inputs{binary32};
  CHECK(autocast_device() == DeviceType::cpu);
  CHECK(autocast_dtype(DeviceType::cuda, "linear", inputs) == binary16);
  CHECK_FALSE(autocast_dtype("linear", inputs));
}

TEST_CASE("the epoch is one number within an outermost scope and another one in the next") {
  std::uint64_t first = 0;
  {
    const Autocast outer(DeviceType::cuda);
    first = autocast_epoch();
    CHECK(first != 0);
    {
      const Autocast inner(DeviceType::cpu, {.enabled = false});
      CHECK(autocast_epoch() == first);
    }
    CHECK(autocast_epoch() == first);
  }
  CHECK(autocast_epoch() == 0);
  const Autocast next(DeviceType::cuda);
  CHECK(autocast_epoch() != 0);
  CHECK(autocast_epoch() != first);
}

TEST_CASE("the weight cache is inherited, switched off inside, and comes back") {
  const Autocast outer(DeviceType::cuda, {.cache_enabled = false});
  CHECK_FALSE(autocast_cache_enabled());
  {
    const Autocast inherits(DeviceType::cuda);
    CHECK_FALSE(autocast_cache_enabled());
    const Autocast on(DeviceType::cuda, {.cache_enabled = true});
    CHECK(autocast_cache_enabled());
  }
  CHECK_FALSE(autocast_cache_enabled());
}

TEST_CASE("the state is the thread's") {
  const Autocast scope(DeviceType::cuda);
  const std::uint64_t here = autocast_epoch();
  std::thread([here] {
    CHECK_FALSE(autocast_enabled(DeviceType::cuda));
    CHECK(autocast_epoch() == 0);
    const Autocast own(DeviceType::cuda);
    CHECK(autocast_epoch() != here);
  }).join();
}

TEST_CASE("promotion of two formats is the wider one, and binary16 with bfloat16 is binary32") {
  CHECK(promote_types(binary16, bfloat16) == binary32);
  CHECK(promote_types(bfloat16, binary16) == binary32);
  CHECK(promote_types(binary16, binary32) == binary32);
  CHECK(promote_types(binary64, bfloat16) == binary64);
  CHECK(promote_types(binary16, binary16) == binary16);
  CHECK(promote_types(tf32, binary16) == tf32);
  CHECK(promote_types(Format{9, 11, 255}, binary16) == Format{9, 11, 255});
  CHECK(promote_types(Format{9, 11, 255}, binary32) == binary64);
}

TEST_CASE("formats of 8 bits are not promoted, except to themselves") {
  CHECK(promote_types(e4m3, e4m3) == e4m3);
  CHECK_THROWS_WITH_AS(promote_types(e4m3, binary32),
                       doctest::Contains("Promotion for Float8 Types is not supported"), Error);
  CHECK_THROWS_AS(promote_types(binary16, e5m2), Error);
}

TEST_CASE("Apex's lists decide within a scope that asks for them, in any low format") {
  for (const Format& low : {binary16, bfloat16}) {
    const Autocast scope(DeviceType::cuda, {.dtype = low, .lists = CastLists::apex});
    CHECK(autocast_dtype("linear", std::array{binary32, binary32}) == low);
    CHECK(autocast_dtype("add", std::array{low, binary32}) == binary32);
    CHECK(autocast_dtype("add", std::array{low, low}) == std::nullopt);
    CHECK(autocast_dtype("softmax", std::array{low}) == binary32);
    CHECK(autocast_policy("add") == CastPolicy::promote);
    CHECK(autocast_policy("scaled_dot_product_attention") == CastPolicy::unlisted);
    {
      const Autocast within(DeviceType::cuda);
      CHECK(autocast_policy("add") == CastPolicy::unlisted);
      const Autocast off(DeviceType::cuda, {.enabled = false, .lists = CastLists::apex});
      CHECK(autocast_policy("linear") == CastPolicy::unlisted);
      CHECK(autocast_dtype("linear", std::array{binary32, binary32}) == std::nullopt);
    }
    CHECK(autocast_policy("add") == CastPolicy::promote);
  }
  CHECK(autocast_policy("linear") == CastPolicy::unlisted);
}

}  // namespace
}  // namespace binade::test::autocast_test
