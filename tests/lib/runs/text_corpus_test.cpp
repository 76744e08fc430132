// SPDX-License-Identifier: Apache-2.0
//
// Which files make the text, in which order, and how it becomes numbers.
#include "lib/runs/text_corpus.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/lib/io/files.h"

namespace binade::text_corpus_test {
namespace {

using test::error_of;
using test::has;

Text text_at(const std::string& place) {
  setenv("BINADE_TEXT", place.c_str(), 1);
  Text text;
  const std::string error = error_of([&] { text = licence_text(); });
  unsetenv("BINADE_TEXT");
  if (!error.empty()) throw Error(error);
  return text;
}

std::string error_at(const std::string& place) {
  return error_of([&] { text_at(place); });
}

/// The bytes that the numbers stand for.
std::string spelled(const Text& text) {
  std::string bytes;
  for (const auto* part : {&text.train, &text.test}) {
    for (const std::int32_t i : *part) bytes += text.vocabulary.at(static_cast<std::size_t>(i));
  }
  return bytes;
}

TEST_CASE("the vocabulary is the distinct bytes in order, high ones last") {
  const test::Folder folder;
  const Text text = text_at(folder.write("a", "banana \xC3\xA9\nban"));
  CHECK(text.vocabulary == "\n abn\xA9\xC3");
  CHECK(text.train.front() == 3);
  CHECK(spelled(text) == "banana \xC3\xA9\nban");
}

TEST_CASE("the last tenth, rounded down, is for tests") {
  const test::Folder folder;
  const Text text = text_at(folder.write("a", "01234567890123456789012345678"));
  CHECK(text.train.size() == 27);
  CHECK(text.test == std::vector<std::int32_t>{7, 8});
}

TEST_CASE("files of a folder come in the order of their names, without links and folders") {
  const test::Folder folder;
  folder.write("b", "second ");
  folder.write("a-2", "first ");
  folder.write("c", "third");
  std::filesystem::create_symlink("c", folder / "a-3");
  std::filesystem::create_directory(folder / "a-4");
  folder.write("a-4/inner", "hidden");
  CHECK(spelled(text_at(folder / "")) == "first second third");
}

TEST_CASE("no text, too little of it, and too much are errors") {
  const test::Folder folder;
  CHECK(has(error_at(folder / "missing"), "no such file or folder"));
  CHECK(has(error_at(folder / ""), "fewer than 10 bytes"));
  CHECK(has(error_at(folder.write("a", "123456789")), "fewer than 10 bytes"));
  CHECK(has(error_at("/dev/null"), "not a regular file"));
  const std::string big = folder.write("big", "1");
  std::filesystem::resize_file(big, (std::uintmax_t{64} << 20) - 8);
  CHECK(has(error_at(folder / ""), "more than 67108864 bytes"));
}

}  // namespace
}  // namespace binade::text_corpus_test
