// SPDX-License-Identifier: Apache-2.0
//
// Damage of every kind to a good file of every kind: the readers answer with an Error or with the
// promised bytes, never with a crash, another exception or unbounded memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "lib/io/file_format.h"
#include "tests/lib/io/pickles.h"

namespace binade::hostile_test {
namespace {

using test::dict;
using test::error_of_reading;
using test::npy;

struct GoodFile {
  std::string name;
  std::string bytes;
};

/// Good files of every format that is a single file.
std::vector<GoodFile> good_files() {
  const std::string array = npy(dict(">f4", "(2, 3)", true), "abcdefghijklmnopqrstuvwx");
  const std::string bytes = npy(dict("|u1", "(3,)"), "xyz", 2);
  const auto archive = [&](bool deflate, bool zip64) {
    return test::zip({{.name = "a.npy", .contents = array, .deflate = deflate, .zip64 = zip64},
                      {.name = "b.npy", .contents = bytes, .deflate = deflate, .zip64 = zip64}},
                     {.zip64 = zip64});
  };
  const std::string tensors = test::pickled(
      test::dict_of({test::text("w"), test::view_of({}), test::text("t"),
                     test::view_of({.offset = 1, .sizes = {2, 2}, .strides = {1, 3}})}));
  const auto torch = [&](bool checked) {
    return test::torch_archive(tensors, {{"0", "abcdefghijklmnopqrstuvwx"}}, checked,
                               {{.name = "m/byteorder", .contents = "little"}});
  };
  return {
      {"npy", array},
      {"safetensors",
       test::safetensors(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,1],)"
                         R"("data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[2],)"
                         R"("data_offsets":[8,12]}})",
                         "abcdefghijkl")},
      {"npz, stored", archive(false, false)},
      {"npz, deflated", archive(true, false)},
      {"npz, zip64", archive(true, true)},
      {"torch_file, checked", torch(true)},
      {"torch_file, unchecked", torch(false)},
  };
}

TEST_CASE("the good files are good, and their contents decide what they are, not their names") {
  const test::Folder folder;
  for (const GoodFile& good : good_files()) {
    for (const std::string name :
         {"a", "a.npy", "a.npz", "a.safetensors", "a.pt", "a.bin", "a.json"}) {
      CAPTURE(good.name);
      CAPTURE(name);
      CHECK(error_of_reading(folder.write(name, good.bytes)) == "");
    }
  }
}

TEST_CASE("each format of single files has a good file, and no file begins as two formats do") {
  std::set<const FileFormat*> seen;
  for (const GoodFile& good : good_files()) {
    CAPTURE(good.name);
    const auto all = std::as_bytes(std::span(good.bytes));
    const auto begins = [first = all.first(std::min<std::size_t>(all.size(), 4096))](
                            const FileFormat* format) { return format->begins(first); };
    CHECK(std::ranges::count_if(file_formats(), begins) == 1);
    seen.insert(*std::ranges::find_if(file_formats(), begins));
  }
  for (const FileFormat* format : file_formats()) {
    CAPTURE(format->files);
    CHECK(seen.contains(format) == !format->single.empty());
  }
}

TEST_CASE("a file cut at any byte is an error") {
  const test::MemoryFile file;
  for (const GoodFile& good : good_files()) {
    for (std::size_t size = 0; size < good.bytes.size(); ++size) {
      CAPTURE(good.name);
      CAPTURE(size);
      CHECK(error_of_reading(file.write(good.bytes.substr(0, size))) != "");
    }
  }
}

TEST_CASE("a file with a byte more is an error") {
  const test::MemoryFile file;
  for (const GoodFile& good : good_files()) {
    CAPTURE(good.name);
    CHECK(error_of_reading(file.write(good.bytes + '\0')) != "");
  }
}

TEST_CASE("20000 random damages to each kind give an error in one line or all promised bytes") {
  const test::MemoryFile file;
  constexpr std::uint32_t seed = 20240229;
  for (const GoodFile& good : good_files()) {
    std::mt19937 random(seed);
    int errors = 0;
    int successes = 0;
    for (int round = 0; round < 20000; ++round) {
      std::string damaged = good.bytes;
      const auto count = 1 + random() % 3;
      for (std::size_t i = 0; i < count; ++i) {
        // A flipped bit, any byte, or an extreme one: sizes and offsets like those least.
        const std::size_t at = random() % damaged.size();
        const auto old = static_cast<unsigned char>(damaged[at]);
        const unsigned long flipped = old ^ 1UL << random() % 8;
        const unsigned long extreme = random() % 2 == 0 ? 0 : 0xFF;
        const unsigned long choices[] = {flipped, random() % 256, extreme};
        damaged[at] = static_cast<char>(choices[random() % 3]);
      }
      const std::string message = error_of_reading(file.write(damaged));
      (message.empty() ? successes : errors) += 1;
      CAPTURE(good.name);
      CAPTURE(round);
      if (message.find('\n') != std::string::npos) FAIL(message);
    }
    CAPTURE(good.name);
    CHECK(errors > 1000);
    CHECK(successes > 100);
  }
}

}  // namespace
}  // namespace binade::hostile_test
