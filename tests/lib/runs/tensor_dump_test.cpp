// SPDX-License-Identifier: Apache-2.0
//
// Dumps of trainings: which tensors, under which names and in which shapes, and that weights and
// updates belong to the same step.
#include "lib/runs/tensor_dump.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/io/tensor_file.h"
#include "lib/runs/trainings.h"
#include "lib/text/error.h"
#include "tests/lib/io/files.h"
#include "tests/lib/train/made_workload.h"

namespace binade::tensor_dump_test {
namespace {

using test::Folder;

struct Read {
  std::vector<std::uint64_t> shape;
  std::vector<float> values;
};

std::map<std::string, Read> tensors_of(const std::string& path) {
  std::map<std::string, Read> out;
  const auto file = open_tensor_file(path);
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const TensorInfo& info = file->tensors()[i];
    Read& one = out[info.name];
    one.shape.assign(info.shape.begin(), info.shape.end());
    one.values.resize(info.elements);
    REQUIRE(info.bytes == info.elements * sizeof(float));
    std::size_t at = 0;
    file->read(i, [&](std::span<const std::byte> bytes) {
      std::memcpy(reinterpret_cast<std::byte*>(one.values.data()) + at, bytes.data(), bytes.size());
      at += bytes.size();
    });
  }
  return out;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TrainingRecipe recipe_of(std::int64_t steps) {
  TrainingRecipe recipe;
  recipe.level = "O3";
  recipe.products.format = "binary16";
  recipe.optimizer = {.lr = 0.25, .momentum = 0.5};
  recipe.steps = steps;
  return recipe;
}

using Names = std::vector<std::string>;

TEST_CASE("every so many steps are written, with the first and the last") {
  for (const auto& [steps, names] : std::map<std::int64_t, Names>{
           {1, {"step000000.safetensors"}},
           {4, {"step000000.safetensors", "step000003.safetensors"}},
           {6, {"step000000.safetensors", "step000003.safetensors", "step000005.safetensors"}}}) {
    const Folder folder;
    const std::string inner = folder / "not/there/yet";
    train(test::made_mlp<float>(), recipe_of(steps), dump_hooks(inner, 3, steps));
    CHECK(names_in(inner) == names);
  }
}

TEST_CASE("a step's file has each layer's tensors, by name and shape") {
  const Folder folder;
  train(test::made_mlp<float>(), recipe_of(1), dump_hooks(folder / "", 1, 1));
  using Shapes = std::map<std::string, std::vector<std::uint64_t>>;
  Shapes got;
  for (const auto& [name, tensor] : tensors_of(folder / "step000000.safetensors")) {
    got[name] = tensor.shape;
  }
  Shapes wanted;
  const Shapes parameters{
      {"fc1", {16, 8}}, {"fc1.bias", {16}}, {"fc2", {4, 16}}, {"fc2.bias", {4}}};
  for (const auto& [layer, shape] : parameters) {
    for (const char* role : {"weight", "dW", "update"}) {
      wanted["step000000/" + layer + "/" + role] = shape;
    }
  }
  for (const char* role : {"act", "dAct"}) {
    wanted[std::string("step000000/fc1/") + role] = {32, 16};
    wanted[std::string("step000000/fc2/") + role] = {32, 4};
  }
  CHECK(got == wanted);
}

TEST_CASE("weights are those before the step: less the update, rounded, they are the next step's") {
  const Folder folder;
  train(test::made_mlp<float>(), recipe_of(4), dump_hooks(folder / "", 1, 4));
  std::size_t compared = 0, moved = 0;
  for (int i = 0; i < 3; ++i) {
    const std::string step = "step00000" + std::to_string(i);
    const std::string next = "step00000" + std::to_string(i + 1);
    auto before = tensors_of(folder / (step + ".safetensors"));
    auto after = tensors_of(folder / (next + ".safetensors"));
    for (const std::string layer : {"/fc1/", "/fc1.bias/", "/fc2/", "/fc2.bias/"}) {
      const std::string now = step + layer;
      const std::string then = next + layer;
      const auto& w = before[now + "weight"].values;
      const auto& u = before[now + "update"].values;
      const auto& w_next = after[then + "weight"].values;
      REQUIRE(w.size() == u.size());
      for (std::size_t j = 0; j < w.size(); ++j) {
        std::vector<float> rounded{w[j] - u[j]};
        round_to(binary16, std::span(rounded));
        CHECK(rounded[0] == w_next[j]);
        compared += 1;
        moved += w[j] != w_next[j] ? 1 : 0;
      }
    }
  }
  CHECK(compared == 3 * 212);
  CHECK(moved > compared / 2);
}

/// The only step's gradients in the order of their names, and what the file says of itself.
struct Dumped {
  std::vector<float> gradients;
  std::map<std::string, std::string> metadata;
};

Dumped dumped(TrainingRecipe recipe, const std::string& scaler) {
  const Folder folder;
  recipe.scaler = scaler;
  train(test::made_mlp<float>(), recipe, dump_hooks(folder / "", 1, 1));
  const std::string path = folder / "step000000.safetensors";
  Dumped out;
  for (const auto& [name, tensor] : tensors_of(path)) {
    if (!name.ends_with("/dAct") && !name.ends_with("/dW")) continue;
    out.gradients.insert(out.gradients.end(), tensor.values.begin(), tensor.values.end());
  }
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof length);
  std::string header(length, ' ');
  file.read(header.data(), static_cast<std::streamsize>(length));
  out.metadata = nlohmann::json::parse(header)["__metadata__"];
  return out;
}

TrainingRecipe one_step(const std::string& format) {
  TrainingRecipe recipe = recipe_of(1);
  recipe.level = format == "binary32" ? "O0" : "native";
  recipe.products.format = format;
  return recipe;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

std::size_t count_nonzero(const std::vector<float>& values) {
  return static_cast<std::size_t>(std::ranges::count_if(values, [](float x) { return x != 0; }));
}

TEST_CASE("gradients are unscaled: in binary32 the loss scale leaves no trace in them") {
  const Dumped plain = dumped(one_step("binary32"), "static:1");
  CHECK(plain.gradients.size() == 32 * 20 + 212);
  CHECK(count_nonzero(plain.gradients) > 300);
  for (const char* scaler : {"static:65536", "static:0.0625", "static:16777216"}) {
    CHECK(same_bits(plain.gradients, dumped(one_step("binary32"), scaler).gradients));
  }
}

TEST_CASE("unscaled gradients of binary16 are what its range held at that scale") {
  const Dumped plain = dumped(one_step("binary16"), "static:1");
  const Dumped tiny = dumped(one_step("binary16"), "static:0.000030517578125");
  CHECK(count_nonzero(tiny.gradients) < count_nonzero(plain.gradients));
  CHECK(std::ranges::all_of(plain.gradients, [](float x) { return std::abs(x) < 1; }));
  CHECK(std::ranges::all_of(tiny.gradients, [](float x) { return std::abs(x) < 1; }));
}

TEST_CASE("a shifted loss is unshifted in the gradients") {
  TrainingRecipe recipe = one_step("binary32");
  recipe.loss_shift = 20;
  const Dumped shifted = dumped(recipe, "static:8");
  CHECK(same_bits(shifted.gradients, dumped(one_step("binary32"), "static:1").gradients));
  CHECK(shifted.metadata.at("loss_scale") == "7.62939453125e-06");
}

TEST_CASE("a file says its step and the scale that its gradients carried") {
  using Metadata = std::map<std::string, std::string>;
  CHECK(dumped(one_step("binary32"), "static:65536").metadata ==
        Metadata{{"step", "0"}, {"loss_scale", "65536"}, {"gradients", "unscaled"}});
}

TEST_CASE("gradients of a scale that has no reciprocal in binary32 are left as they are") {
  for (const double scale : {0.0, HUGE_VAL, std::nan(""), 1e300, 1e-300}) {
    std::size_t compared = 0;
    Hooks<float> hooks;
    hooks.after_backward = [&](const StepView<float>& view) {
      const StepView<float> odd{view.step, scale, view.tape, view.model, view.optimizer};
      std::vector<std::vector<float>> as_is;
      visit_after_backward(view, [&](auto&, TensorRole role, auto&, const auto& values) {
        if (is_gradient(role)) as_is.push_back(values);
      });
      visit_after_backward(odd, [&](auto&, TensorRole role, auto&, const auto& values) {
        if (is_gradient(role)) CHECK(same_bits(values, as_is.at(compared++)));
      });
    };
    train(test::made_mlp<float>(), one_step("binary32"), hooks);
    CHECK(compared == 6);
  }
}

TEST_CASE("skipped steps are written without updates") {
  const Folder folder;
  TrainingRecipe recipe = recipe_of(3);
  recipe.scaler = "static:1099511627776";
  recipe.skip_overflow = true;
  const TrainingLog log =
      train(test::made_mlp<float>(), recipe, dump_hooks(folder / "", 1, recipe.steps));
  CHECK(log.skipped == 3);
  CHECK(folder.count() == 3);
  for (const auto& [name, tensor] : tensors_of(folder / "step000002.safetensors")) {
    CHECK_FALSE(name.ends_with("/update"));
  }
}

TEST_CASE("a step at which the scaler gives up is written") {
  const Folder folder;
  TrainingRecipe recipe = recipe_of(20);
  recipe.scaler = "deepspeed";
  recipe.scaler_parameters["init_scale"] = 1;
  Hooks<float> hooks = dump_hooks(folder / "", 1, recipe.steps);
  hooks.gradient_filter = [](std::vector<float>& g) {
    g[0] = std::numeric_limits<float>::infinity();
  };
  const TrainingLog log = train(test::made_mlp<float>(), recipe, hooks);
  CHECK(log.gave_up.has_value());
  CHECK(folder.count() == log.steps.size());
}

TEST_CASE("a folder that holds a run is refused before another mixes with it") {
  const Folder folder;
  train(test::made_mlp<float>(), recipe_of(4), dump_hooks(folder / "", 1, 4));
  try {
    dump_hooks(folder / "", 1, 2);
    FAIL("no Error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) ==
          (folder / "step000000.safetensors") +
              ": an earlier dump, with which this one would mix; remove that dump or name another "
              "folder");
  }
  CHECK(folder.count() == 4);
}

TEST_CASE("a folder is not refused for other files, or for runs in folders of its own") {
  const Folder folder;
  folder.write("notes.txt", "x");
  folder.write("weights.safetensors", "x");
  train(test::made_mlp<float>(), recipe_of(1), dump_hooks(folder / "inner", 1, 1));
  train(test::made_mlp<float>(), recipe_of(1), dump_hooks(folder / "", 1, 1));
  CHECK(std::filesystem::exists(folder / "step000000.safetensors"));
}

TEST_CASE("an experiment is refused before its first training where its folder holds a run") {
  const Folder folder;
  ExperimentInput input;
  input.dump_folder = folder / "";
  CHECK_NOTHROW(Trainings(input, 1));
  train(test::made_mlp<float>(), recipe_of(1), dump_hooks(folder / "one_run", 1, 1));
  CHECK_THROWS_AS(Trainings(input, 1), Error);
}

TEST_CASE("a training that ends before its first step leaves no empty folder") {
  const Folder folder;
  { const Hooks<float> hooks = dump_hooks(folder / "run/inner", 1, 1); }
  CHECK(!std::filesystem::exists(folder / "run"));
}

TEST_CASE("a folder that cannot be made is named") {
  CHECK_THROWS_AS(dump_hooks("/dev/null/folder", 1, 1), Error);
}

}  // namespace
}  // namespace binade::tensor_dump_test
