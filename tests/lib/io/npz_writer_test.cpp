// SPDX-License-Identifier: Apache-2.0
//
// The archives of NpzWriter: read back by the strict reader, whose checks of every header field and
// CRC npz_test tests; and a small archive byte by byte.
#include "lib/io/npz_writer.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/lib/io/files.h"

namespace binade::npz_writer_test {
namespace {

using test::error_of;
using test::has;
using test::little;
using test::slurp;
using Shape = std::vector<std::uint64_t>;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST_CASE("several arrays read back by name, type, shape and bytes") {
  const test::Folder folder;
  NpzWriter writer(folder / "x.npz");
  writer.add("a", *find_dtype("F16"), Shape{2, 3}, bytes_of("abcdefghijkl"));
  writer.add("empty", *find_dtype("F32"), Shape{0, 7}, {});
  writer.add("scalar", *find_dtype("U8"), Shape{}, bytes_of("z"));
  CHECK(!std::filesystem::exists(folder / "x.npz"));
  writer.finish();
  const auto file = open_tensor_file(folder / "x.npz");
  REQUIRE(file->tensors().size() == 3);
  CHECK(file->tensors()[0].name == "a");
  CHECK(file->tensors()[0].dtype.name == "F16");
  CHECK(file->tensors()[0].shape == Shape{2, 3});
  CHECK(test::contents(*file, 0) == "abcdefghijkl");
  CHECK(file->tensors()[1].name == "empty");
  CHECK(file->tensors()[1].shape == Shape{0, 7});
  CHECK(test::contents(*file, 1).empty());
  CHECK(file->tensors()[2].shape == Shape{});
  CHECK(test::contents(*file, 2) == "z");
}

TEST_CASE("an archive of no arrays is the end record alone") {
  const test::Folder folder;
  NpzWriter writer(folder / "x.npz");
  writer.finish();
  CHECK(slurp(folder / "x.npz") == "PK\x05\x06" + std::string(18, '\0'));
}

TEST_CASE("the local header, field by field") {
  const test::Folder folder;
  NpzWriter writer(folder / "x.npz");
  writer.add("a", *find_dtype("U8"), Shape{9}, bytes_of("123456789"));
  writer.finish();
  const std::string archive = slurp(folder / "x.npz");
  CHECK(archive.substr(0, 14) == "PK\x03\x04" + little(20, 2) + little(0, 2) + little(0, 2) +
                                     little(0, 2) + little(0x21, 2));
  CHECK(archive.substr(18, 12) ==
        little(128 + 9, 4) + little(128 + 9, 4) + little(5, 2) + little(0, 2));
  CHECK(archive.substr(30, 5) == "a.npy");
  CHECK(archive.substr(35 + 128, 9) == "123456789");
}

TEST_CASE("data that do not fill the shape leave nothing behind") {
  const test::Folder folder;
  {
    NpzWriter writer(folder / "x.npz");
    CHECK(has(error_of([&] { writer.add("a", *find_dtype("U8"), Shape{3}, bytes_of("12")); }),
              "data that do not fill their shape"));
  }
  CHECK(!std::filesystem::exists(folder / "x.npz"));
}

}  // namespace
}  // namespace binade::npz_writer_test
