// SPDX-License-Identifier: Apache-2.0
//
// Indices of sharded models, and shards that do or do not match them.
#include "lib/io/sharded_model.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <random>

#include "lib/io/opened_tensor.h"
#include "tests/lib/io/pickles.h"

namespace binade::sharded_model_test {
namespace {

using namespace std::string_literals;
using test::contents;
using test::error_of_reading;
using test::has;

std::string shard(const std::string& name, const std::string& data) {
  return test::safetensors(R"({")" + name + R"(":{"dtype":"U8","shape":[)" +
                               std::to_string(data.size()) + R"(],"data_offsets":[0,)" +
                               std::to_string(data.size()) + "]}}",
                           data);
}

/// A folder with two shards, a and b, and any index.
class Model {
 public:
  Model() {
    folder_.write("1.safetensors", shard("a", "xyz"));
    folder_.write("2.safetensors", shard("b", "uv"));
  }
  std::string write(const std::string& index) const {
    std::filesystem::remove(folder_ /
                            "model.safetensors.index.json");  // sooner written than replaced
    return folder_.write("model.safetensors.index.json", index);
  }
  std::string refusal(const std::string& index) const { return error_of_reading(write(index)); }
  const test::Folder& folder() const { return folder_; }

 private:
  test::Folder folder_;
};

const std::string map = R"("weight_map":{"b":"2.safetensors","a":"1.safetensors"})";

TEST_CASE("an index is all its shards' tensors") {
  const Model model;
  const auto file = open_tensor_file(model.write(
      R"({"metadata":{"total_size":5,"more":{"a":[1,null,true,"x",2.5,-1]}},)" + map + "}"));
  REQUIRE(file->tensors().size() == 2);
  CHECK(file->tensors()[0].name == "a");
  CHECK(contents(*file, 0) == "xyz");
  CHECK(contents(*file, 1) == "uv");
  CHECK(open_tensor((model.folder() / "model.safetensors.index.json") + ":b").index == 1);
  CHECK(model.refusal("{" + map + "}") == "");
  CHECK(model.refusal(R"({"metadata":{"total_size":7},)" + map + "}") == "");
}

TEST_CASE("a model was modified when the latest of its files was") {
  const Model model;
  const std::string index = model.write("{" + map + "}");
  const std::filesystem::file_time_type before = std::filesystem::last_write_time(index);
  const std::int64_t modified = open_tensor_file(index)->modified_ns();
  std::filesystem::last_write_time(model.folder() / "2.safetensors",
                                   before + std::chrono::hours(1));
  CHECK(open_tensor_file(index)->modified_ns() - modified > 3'000'000'000'000);
}

TEST_CASE("shards of torch.save's are read, tied tensors as two") {
  const test::Folder folder;
  const std::string pickle = test::pickled(
      test::dict_of({test::text("a"), test::view_of({}), test::text("tied"), test::view_of({})}));
  folder.write("1.bin", test::torch_archive(pickle, {{"0", std::string(24, 'x')}}));
  const auto file = open_tensor_file(folder.write(
      "pytorch_model.bin.index.json", R"({"weight_map":{"a":"1.bin","tied":"1.bin"}})"));
  REQUIRE(file->tensors().size() == 2);
  CHECK(contents(*file, 0) == std::string(24, 'x'));
  CHECK(contents(*file, 1) == contents(*file, 0));
}

TEST_CASE("an index that its shards do not keep to is refused") {
  const Model model;
  const auto with = [&](const std::string& entries) {
    return model.refusal(R"({"weight_map":{)" + entries + "}}");
  };
  CHECK(with(R"("a":"1.safetensors")") == "");
  CHECK(has(with(R"("a":"1.safetensors","c":"2.safetensors")"), "tensor 'b' is not in the index"));
  CHECK(has(with(R"("a":"1.safetensors","b":"2.safetensors","c":"2.safetensors")"),
            "tensor 'c' is not in 2.safetensors"));
  CHECK(has(with(R"("a":"2.safetensors","b":"2.safetensors")"),
            "tensor 'a' is not in 2.safetensors"));
  CHECK(has(with(R"("a":"1.safetensors","b":"1.safetensors")"),
            "tensor 'b' is not in 1.safetensors"));
  CHECK(has(with(R"("a":"3.safetensors")"), "3.safetensors: No such file"));
  model.folder().write("3.safetensors", shard("a", "xyz"));
  CHECK(has(with(R"("a":"1.safetensors","d":"3.safetensors")"),
            "tensor 'a' is in 1.safetensors by the index"));
}

TEST_CASE("a shard lies in the folder of its index") {
  const Model model;
  for (const char* name : {"", "/etc/passwd", "../1.safetensors", "a/../../b", "..", "a/", "/"}) {
    CAPTURE(name);
    CHECK(has(model.refusal(R"({"weight_map":{"a":")" + std::string(name) + R"("}})"),
              "no name in its folder"));
  }
  CHECK(
      has(model.refusal(R"({"weight_map":{"a":"1\u0000.safetensors"}})"), "no name in its folder"));
  CHECK(path_beside("m/index", "a/b.bin") == "m/a/b.bin");
  CHECK(path_beside("index", "b.bin") == "b.bin");
}

TEST_CASE("JSON that is no index is refused") {
  const Model model;
  CHECK(has(model.refusal(R"({"version":1})"),
            "JSON with 'version', so no index of a model's shards"));
  CHECK(has(model.refusal(R"({"metadata":5})"), "bad index: a number"));
  CHECK(has(model.refusal("{}"), "without a weight_map"));
  CHECK(has(model.refusal(R"({"metadata":{}})"), "without a weight_map"));
  CHECK(has(model.refusal(R"({"weight_map":{"a":"1.safetensors","a":"1.safetensors"}})"),
            "a repeated key under 'a'"));
  CHECK(has(model.refusal("{" + map + "," + map + "}"), "a repeated key under 'weight_map'"));
  CHECK(has(model.refusal("{" + map), "not valid JSON"));
  CHECK(has(model.refusal("{" + map + "} x"), "not valid JSON"));
  for (const char* value : {"1", "null", "true", "-1", "1.5", "[]", "{}"}) {
    CAPTURE(value);
    CHECK(has(model.refusal(R"({"weight_map":{"a":)" + std::string(value) + "}}"), "bad index"));
  }
  CHECK(has(model.refusal(R"({"weight_map":"x"})"), "bad index: a string"));
  CHECK(has(model.refusal(R"({"metadata":{"a":)" + std::string(40, '[') + std::string(40, ']') +
                          "," + map + "}"),
            "nested too deeply"));
}

TEST_CASE("2000 random damages to an index give an error in one line or all bytes") {
  const Model model;
  const std::string good = R"({"metadata":{"total_size":5},)" + map + "}";
  std::mt19937 random(3);
  int errors = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = good;
    damaged[random() % good.size()] = static_cast<char>(random());
    const std::string message = model.refusal(damaged);
    if (!message.empty()) ++errors;
    CHECK(!has(message, "\n"));
  }
  CHECK(errors > 1500);
}

}  // namespace
}  // namespace binade::sharded_model_test
