// SPDX-License-Identifier: Apache-2.0
//
// What can be mapped, what cannot, and that streaming gives every byte once.
#include "lib/io/mapped_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/lib/io/files.h"

namespace binade::mapped_file_test {
namespace {

using test::error_of;
using test::has;

TEST_CASE("a mapped file has the bytes of the file") {
  const test::Folder folder;
  const MappedFile file(folder.write("a", "12345"));
  REQUIRE(file.size() == 5);
  CHECK(std::to_integer<char>(file.bytes()[0]) == '1');
  CHECK(std::to_integer<char>(file.bytes()[4]) == '5');
}

TEST_CASE("an empty file maps to no bytes") {
  const test::Folder folder;
  const MappedFile file(folder.write("a", ""));
  CHECK(file.bytes().empty());
}

TEST_CASE("what is no readable regular file is an error with its reason") {
  const test::Folder folder;
  const auto opening = [](const std::string& path) {
    return error_of([&] { const MappedFile file(path); });
  };
  CHECK(has(opening(folder / "missing"), "No such file"));
  CHECK(has(opening(folder / ""), "folder"));
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(has(opening(pipe), "not a regular file"));
  CHECK(has(opening("/dev/null"), "not a regular file"));
}

// Root may read and write everywhere.
TEST_CASE("a file without permission is an error" * doctest::skip(geteuid() == 0)) {
  const test::Folder folder;
  const std::string path = folder.write("a", "1");
  REQUIRE(chmod(path.c_str(), 0) == 0);
  CHECK(has(error_of([&] { const MappedFile file(path); }), "Permission denied"));
}

TEST_CASE("streaming gives each byte once, in order, in pieces of at most 64 MiB") {
  const test::Folder folder;
  std::string bytes((std::size_t{130} << 20) + 3, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 4093) bytes[i] = static_cast<char>(i / 4093);
  const MappedFile file(folder.write("a", bytes));
  for (int pass = 0; pass < 2; ++pass) {  // released pages come back
    std::size_t at = 1;
    std::size_t pieces = 0;
    bool equal = true;
    file.stream(file.bytes().subspan(1), [&](std::span<const std::byte> part) {
      CHECK(part.size() <= std::size_t{64} << 20);
      equal = equal && std::memcmp(part.data(), bytes.data() + at, part.size()) == 0;
      at += part.size();
      ++pieces;
    });
    CHECK(equal);
    CHECK(at == bytes.size());
    CHECK(pieces == 3);
  }
}

}  // namespace
}  // namespace binade::mapped_file_test
