// SPDX-License-Identifier: Apache-2.0
//
// The files of SafetensorsWriter, byte by byte.
#include "lib/io/safetensors_writer.h"

#include <doctest/doctest.h>

#include "lib/io/safetensors.h"
#include "tests/lib/io/files.h"

namespace binade::safetensors_writer_test {
namespace {

using test::error_of;
using test::has;
using test::slurp;
using Specs = std::vector<TensorSpec>;

std::string written(const test::Folder& folder, const Specs& tensors, std::string_view data,
                    const std::map<std::string, std::string>& metadata = {}) {
  SafetensorsWriter writer(folder / "a.safetensors", tensors, metadata);
  writer.write(std::as_bytes(std::span(data)));
  writer.finish();
  return slurp(folder / "a.safetensors");
}

const Specs two = {{"a", *find_dtype("BF16"), {2}}, {"b", *find_dtype("U8"), {}}};

TEST_CASE("the header is compact JSON, padded with spaces to a multiple of 8") {
  const test::Folder folder;
  std::string json = R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                     R"("b":{"dtype":"U8","shape":[],"data_offsets":[4,5]}})";
  while (json.size() % 8 != 0) json += ' ';
  CHECK(written(folder, two, "abcde") == test::safetensors(json, "abcde"));
}

TEST_CASE("tensors, metadata and odd names read back") {
  const test::Folder folder;
  const std::string odd = "a \"b\"\n\\ ß";
  written(folder, {{odd, *find_dtype("F64"), {0, 3}}, {"", *find_dtype("I8"), {2}}}, "xy",
          {{"seed", "7"}, {odd, odd}});
  const auto file = open_safetensors(folder / "a.safetensors");
  REQUIRE(file->tensors().size() == 2);
  CHECK(file->tensors()[0].name == odd);
  CHECK(file->tensors()[0].shape == std::vector<std::uint64_t>{0, 3});
  CHECK(test::contents(*file, 1) == "xy");
  CHECK(file->metadata().at("seed") == "7");
  CHECK(file->metadata().at(odd) == odd);
}

TEST_CASE("data may come in pieces of any size") {
  const test::Folder folder;
  SafetensorsWriter writer(folder / "a.safetensors", two);
  for (const std::string_view piece : {"a", "bcd", "e"})
    writer.write(std::as_bytes(std::span(piece)));
  writer.finish();
  const auto file = open_safetensors(folder / "a.safetensors");
  CHECK(test::contents(*file, 0) == "abcd");
  CHECK(test::contents(*file, 1) == "e");
}

TEST_CASE("too many or too few data leave no file") {
  const test::Folder folder;
  CHECK(has(error_of([&] { written(folder, two, "abcd"); }), "fewer data"));
  CHECK(has(error_of([&] { written(folder, two, "abcdef"); }), "more data"));
  CHECK(folder.count() == 0);
}

TEST_CASE("tensors that the format cannot hold are errors") {
  const test::Folder folder;
  const Dtype u8 = *find_dtype("U8");
  const auto writing = [&](const Specs& tensors) {
    return error_of([&] { written(folder, tensors, ""); });
  };
  CHECK(has(writing({{"x", u8, {0}}, {"x", u8, {0}}}), "two tensors would be 'x'"));
  CHECK(has(writing({{"__metadata__", u8, {0}}}), "impossible"));
  CHECK(has(writing({{"x", u8, {1ULL << 32, 1ULL << 32}}}), "impossible"));
  Specs large;  // each fits, their sum exceeds 2^63 - 1
  for (int i = 0; i < 9; ++i) large.push_back({std::to_string(i), u8, {(1ULL << 60) - 1}});
  CHECK(has(writing(large), "tensor '8' has an impossible"));
  CHECK(has(writing({{"x", *find_dtype("F4"), {1}}}), "impossible"));
  CHECK(has(writing({{"\xff", u8, {0}}}), "not UTF-8"));
}

}  // namespace
}  // namespace binade::safetensors_writer_test
