// SPDX-License-Identifier: Apache-2.0
//
// .safetensors files made by hand: what the format allows, and one case for each rule it sets.
#include "lib/io/safetensors.h"

#include <doctest/doctest.h>

#include "tests/lib/io/files.h"

namespace binade::safetensors_test {
namespace {

using test::contents;
using test::error_of;
using test::error_of_reading;
using test::has;
using test::safetensors;

std::string reading(const test::Folder& folder, const std::string& json, const std::string& data) {
  return error_of_reading(folder.write("a.safetensors", safetensors(json, data)));
}

TEST_CASE("tensors and metadata are read, the tensors in the order of their data") {
  const test::Folder folder;
  const auto file = open_safetensors(
      folder.write("a.safetensors", safetensors(R"({"__metadata__":{"format":"pt","step":"7"},
        "b":{"dtype":"F16","shape":[2,1],"data_offsets":[4,8]},
        "a":{"shape":[],"dtype":"F32","data_offsets":[0,4]}}   )",
                                                "abcdefgh")));
  REQUIRE(file->tensors().size() == 2);
  CHECK(file->tensors()[0].name == "a");
  CHECK(file->tensors()[0].elements == 1);
  CHECK(contents(*file, 0) == "abcd");
  CHECK(file->tensors()[1].name == "b");
  CHECK(file->tensors()[1].dtype.name == "F16");
  CHECK(file->tensors()[1].shape == std::vector<std::uint64_t>{2, 1});
  CHECK(contents(*file, 1) == "efgh");
  CHECK(file->metadata().at("step") == "7");
}

TEST_CASE("every type of the format is listed with its bytes") {
  const test::Folder folder;
  for (const Dtype& dtype : dtypes()) {
    CAPTURE(dtype.name);
    const std::string json = R"({"x":{"dtype":")" + std::string(dtype.name) +
                             R"(","shape":[8],"data_offsets":[0,)" + std::to_string(dtype.bits) +
                             "]}}";
    const std::string data(dtype.bits, 'x');
    const auto file = open_tensor_file(folder.write("a.safetensors", safetensors(json, data)));
    CHECK(file->tensors()[0].dtype == dtype);
    CHECK(file->tensors()[0].elements == 8);
    if (dtype.kind == DtypeKind::packed) {
      CHECK(has(error_of([&] { contents(*file, 0); }), "packed type"));
    } else {
      CHECK(contents(*file, 0) == data);
    }
  }
}

TEST_CASE("a file may hold no tensor or empty ones") {
  const test::Folder folder;
  CHECK(reading(folder, "{}", "") == "");
  CHECK(reading(folder, R"({"__metadata__":{}})", "") == "");
  CHECK(reading(folder, R"({"x":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},
                            "y":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                "") == "");
}

TEST_CASE("offsets that overlap, leave a gap, run backwards or leave the file are errors") {
  const test::Folder folder;
  const auto two = [&](const std::string& first, const std::string& second) {
    return reading(folder,
                   R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                       R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                   "abcdefgh");
  };
  CHECK(two("[0,4]", "[4,8]") == "");
  CHECK(two("[4,8]", "[0,4]") == "");
  CHECK(has(two("[0,4]", "[3,7]"), "tensor 'b' overlaps the one before it at byte"));
  CHECK(has(two("[0,4]", "[0,4]"), "overlaps"));
  CHECK(has(two("[0,4]", "[5,9]"), "tensor 'b' reaches past the end of the file at byte"));
  CHECK(has(two("[1,5]", "[5,8]"), "tensor 'a' leaves a gap"));
  CHECK(has(two("[0,4]", "[8,4]"), "tensor 'b' ends before it begins"));
  CHECK(has(two("[0,4]", "[4,18446744073709551615]"), "bytes into the data"));
  CHECK(has(two("[0,3]", "[3,8]"), "shape"));
  CHECK(has(reading(folder, R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcdX"),
            "bytes that belong to no tensor at byte"));
}

TEST_CASE("the error's byte is the file's, not the data's") {
  const test::Folder folder;
  const std::string json = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  CHECK(has(reading(folder, json, "abcdX"), "at byte " + std::to_string(8 + json.size() + 4)));
}

TEST_CASE("a shape must give the tensor's bytes, also if its product wraps around") {
  const test::Folder folder;
  const auto with = [&](const std::string& shape) {
    return reading(folder, R"({"a":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":[0,4]}})",
                   "abcd");
  };
  CHECK(with("[4]") == "");
  CHECK(has(with("[5]"), "does not give its 4 bytes"));
  CHECK(has(with("[0]"), "does not give"));
  CHECK(has(with("[4294967296,4294967296,4]"), "does not give"));
  CHECK(has(with("[4611686018427387905,4]"), "does not give"));  // 4 modulo 2^64
  const std::string packed = R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})";
  CHECK(has(reading(folder, packed, "a"), "does not give"));
}

TEST_CASE("an unknown type names the tensor, the type and the byte") {
  const test::Folder folder;
  const std::string json = R"({"fc.weight":{"dtype":"Q4_0","shape":[4],"data_offsets":[0,4]}})";
  CHECK(has(reading(folder, json, "abcd"),
            "tensor 'fc.weight' is of the unknown type 'Q4_0' at byte " +
                std::to_string(8 + json.size())));
}

TEST_CASE("repeated names and keys are errors") {
  const test::Folder folder;
  const std::string x = R"("x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK(has(reading(folder, "{" + x + "," + x + "}", ""), "tensor 'x' is there twice"));
  CHECK(has(reading(folder, R"({"__metadata__":{},"__metadata__":{}})", ""), "repeated"));
  CHECK(has(reading(folder, R"({"__metadata__":{"a":"1","a":"2"}})", ""), "repeated"));
  CHECK(has(
      reading(folder, R"({"x":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", ""),
      "repeated"));
  CHECK(has(
      reading(folder, R"({"x":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})", ""),
      "repeated"));
}

TEST_CASE("a header with anything else in it is an error with its byte") {
  const test::Folder folder;
  for (const char* json : {
           R"({"x":null})",
           R"({"x":1})",
           R"({"x":"U8"})",
           R"({"x":[]})",
           R"({"x":{}})",
           R"({"x":{"dtype":"U8","shape":[0]}})",
           R"({"x":{"dtype":"U8","data_offsets":[0,0]}})",
           R"({"x":{"shape":[0],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":1,"shape":[0],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":"0","data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[-0.0],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[1e0],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[[0]],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[true],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":["0"],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[{}],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0]}})",
           R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0,0]}})",
           R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":1}})",
           R"({"x":{"dtype":["U8"],"shape":[0],"data_offsets":[0,0]}})",
           R"({"x":{"dtype":"U8","shape":[0],"data_offsets":{"0":0}}})",
           R"({"__metadata__":{"a":1}})",
           R"({"__metadata__":{"a":{}}})",
           R"({"__metadata__":{"a":[]}})",
           R"({"__metadata__":"a"})",
           R"({"__metadata__":{"a":null}})",
           R"({)",
           R"({"x")",
           R"({} x)",
           R"({}{})",
           R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},})",
           "{\"\xff\":1}",
           R"([])",
           " {}",
           "",
       }) {
    CAPTURE(json);
    CHECK(has(reading(folder, json, ""), "at byte "));
  }
}

TEST_CASE("a bad header's byte is where the parser stopped") {
  const test::Folder folder;
  CHECK(has(reading(folder, R"({"x":null})", ""), "null under 'x' at byte 17"));
  CHECK(has(reading(folder, R"({"x";1})", ""), "not valid JSON at byte 13"));
}

TEST_CASE("names with control characters stay on one line") {
  const test::Folder folder;
  const std::string message = reading(folder, R"({"a\n\u001b[2Jb":null})", "");
  CHECK(has(message, "'a\\x0a\\x1b[2Jb'"));
  CHECK_FALSE(has(message, "\n"));
}

TEST_CASE("a header longer than the file or the format's limit is an error") {
  const test::Folder folder;
  for (const std::uint64_t length :
       {std::uint64_t{3}, std::uint64_t{100'000'001}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    CAPTURE(length);
    const std::string path = folder.write("a.safetensors", test::little(length, 8) + "{}");
    CHECK(has(error_of_reading(path), "a header of " + std::to_string(length) + " bytes"));
  }
}

TEST_CASE("a header over the format's limit is an error also where the file is long enough") {
  const test::Folder folder;
  const std::string path = folder.write("a.safetensors", test::little(100'000'001, 8) + "{}");
  std::filesystem::resize_file(path, 100'000'100);
  CHECK(has(error_of_reading(path), "a header of 100000001 bytes"));
}

TEST_CASE("a million nested brackets are an error, not a full stack") {
  const test::Folder folder;
  const std::size_t depth = 1'000'000;
  CHECK(has(reading(folder, R"({"x":{"shape":)" + std::string(depth, '['), ""), "an array"));
  std::string objects = R"({"x":)";
  for (std::size_t i = 0; i < depth; ++i) objects += R"({"a":)";
  CHECK(has(reading(folder, objects, ""), "an object"));
}

}  // namespace
}  // namespace binade::safetensors_test
