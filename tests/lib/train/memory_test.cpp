// SPDX-License-Identifier: Apache-2.0
//
// Bytes per parameter as the papers count them, and whole models worked out by hand.
#include "lib/train/memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

namespace binade::memory_test {
namespace {

const TrainingMode& mode(std::string_view name) {
  return *std::ranges::find(training_modes, name, &TrainingMode::name);
}
const OptimizerMoments& optimizer(std::string_view name) {
  return *std::ranges::find(optimizer_moments(), name, &OptimizerMoments::name);
}
int bytes(std::string_view m, std::string_view o) {
  return bytes_per_parameter(mode(m), optimizer(o)).total();
}

TEST_CASE("Adam takes 16 bytes per parameter in FP32, 18 under autocast, 16 in O2") {
  CHECK(bytes("fp32", "adam") == 16);
  CHECK(bytes("amp", "adamw") == 18);
  CHECK(bytes_per_parameter(mode("o2"), optimizer("adam")) ==
        BytesPerParameter{2, 4, 0, 2, 8});  // ZeRO's 2 + 2 + 12
  CHECK(bytes("bf16_master", "adam") == 16);
}

TEST_CASE("weights and master weights are half as much again, not half") {
  const BytesPerParameter narrow = bytes_per_parameter(mode("o2"), optimizer("sgd"));
  const BytesPerParameter wide = bytes_per_parameter(mode("fp32"), optimizer("sgd"));
  CHECK(2 * (narrow.weights + narrow.master) == 3 * (wide.weights + wide.master));
}

TEST_CASE("moments have the type of what the optimizer steps, unless FP32 is asked for") {
  CHECK(bytes("o3", "adam") == 2 + 2 + 2 * 2);
  CHECK(bytes("bf16", "momentum") == 2 + 2 + 2);
  CHECK(bytes("o2", "momentum") == 2 + 4 + 2 + 4);
  CHECK(bytes("amp", "momentum") == 4 + 2 + 4 + 4);
  CHECK(bytes_per_parameter(mode("o3"), optimizer("adam"), true).moments == 8);
  CHECK(bytes_per_parameter(mode("fp32"), optimizer("adam"), true).moments == 8);
}

TEST_CASE("fp8 adds two one-byte copies of the weights") {
  CHECK(bytes("fp8", "sgd") == bytes("fp32", "sgd") + 2);
  CHECK(bytes("fp8_bf16", "adam") == bytes("bf16", "adam") + 2);
}

TEST_CASE("activations halve, which is what halves the memory of large batches") {
  const TrainingSize size{1000, 1'000'000, 64};
  const auto use = [&](std::string_view name) {
    return *memory_use(mode(name), bytes_per_parameter(mode(name), optimizer("adam")), size);
  };
  CHECK(use("fp32").activations == 256'000'000);
  CHECK(use("amp").activations == 128'000'000);
  CHECK(use("fp8").activations == 64'000'000);
  CHECK(use("amp").state == 18'000);
  CHECK(use("amp").total() == 128'018'000);
}

TEST_CASE("what fits is the largest that fits, to the parameter and to the sample") {
  const BytesPerParameter b = bytes_per_parameter(mode("amp"), optimizer("adam"));
  TrainingSize size{0, 100, 10};  // 2000 bytes of activations
  CHECK(most_parameters(mode("amp"), b, size, 2000 + 18 * 7) == 7);
  CHECK(most_parameters(mode("amp"), b, size, 2000 + 18 * 7 - 1) == 6);
  CHECK(most_parameters(mode("amp"), b, size, 1999) == 0);
  size = {10, 100, 1};
  CHECK(largest_batch(mode("amp"), b, size, 180 + 200 * 5) == 5);
  CHECK(largest_batch(mode("amp"), b, size, 180 + 200 * 5 - 1) == 4);
  CHECK(largest_batch(mode("amp"), b, size, 179) == 0);
  CHECK_FALSE(largest_batch(mode("amp"), b, {10, 0, 1}, 1000));
  const BytesPerParameter all = bytes_per_parameter(mode("fp32"), optimizer("adam"));
  CHECK(most_parameters(mode("fp32"), all, {}, 80'000'000'000) == 5'000'000'000);
}

TEST_CASE("sizes that pass 2^63 bytes give nothing instead of wrapping around") {
  const BytesPerParameter b = bytes_per_parameter(mode("fp32"), optimizer("adam"));
  CHECK_FALSE(memory_use(mode("fp32"), b, {1, largest_count, largest_count}));
  CHECK(memory_use(mode("fp32"), b, {largest_count, 0, 1})->state == std::uint64_t{1} << 57);
  CHECK(most_parameters(mode("fp32"), b, {1, largest_count, largest_count}, 1) == 0);
  CHECK(largest_batch(mode("fp32"), b, {1, largest_count, 1}, std::uint64_t{1} << 60) == 31);
}

TEST_CASE("names are unique") {
  for (const TrainingMode& x : training_modes) {
    CHECK(std::ranges::count(training_modes, x.name, &TrainingMode::name) == 1);
  }
}

}  // namespace
}  // namespace binade::memory_test
