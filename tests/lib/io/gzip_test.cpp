// SPDX-License-Identifier: Apache-2.0
//
// Whole .gz files: their contents, and what is refused.
#include "lib/io/gzip.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include "tests/lib/io/files.h"
#include "tests/lib/io/gzipped.h"

namespace binade::gzip_test {
namespace {

using test::error_of;
using test::gzipped;
using test::has;

constexpr std::size_t plenty = std::size_t{1} << 26;

/// 5 MiB in which no two pieces of 1 MiB are alike.
std::string long_text() {
  std::string text;
  for (std::uint32_t i = 0; text.size() < (std::size_t{5} << 20); ++i)
    text += std::to_string(i * 2654435761U);
  return text;
}

TEST_CASE("a .gz file gives its contents, short, empty or longer than a piece") {
  const test::Folder folder;
  for (const std::string& text : {std::string("12,3\n"), std::string(), long_text()}) {
    CHECK(read_gzip(folder.write("a.gz", gzipped(text)), plenty) == text);
  }
}

TEST_CASE("members of one file follow each other") {
  const test::Folder folder;
  CHECK(read_gzip(folder.write("a.gz", gzipped("one ") + gzipped("") + gzipped("two")), plenty) ==
        "one two");
}

TEST_CASE("contents may be as long as allowed and not a byte longer") {
  const test::Folder folder;
  const std::string path = folder.write("a.gz", gzipped("12345"));
  CHECK(read_gzip(path, 5) == "12345");
  CHECK(has(error_of([&] { read_gzip(path, 4); }), "more than 4 bytes"));
  const std::string bomb = folder.write("b.gz", gzipped(std::string(std::size_t{8} << 20, '\0')));
  CHECK(has(error_of([&] { read_gzip(bomb, std::size_t{1} << 20); }), "more than 1048576 bytes"));
}

TEST_CASE("a file cut off anywhere is an error") {
  const test::Folder folder;
  const std::string whole = gzipped("some text that is packed");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(
        !error_of([&] { read_gzip(folder.write("a.gz", whole.substr(0, size)), plenty); }).empty());
  }
}

TEST_CASE("a changed bit of the data or of the checks never gives other contents") {
  const test::Folder folder;
  const std::string text = "some text that is packed";
  const std::string whole = gzipped(text);
  for (std::size_t bit = 80; bit < 8 * whole.size(); ++bit) {  // behind the 10 bytes of the header
    CAPTURE(bit);
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    std::string contents;
    const std::string error =
        error_of([&] { contents = read_gzip(folder.write("a.gz", changed), plenty); });
    const bool checks =
        bit / 8 + 8 >= whole.size();  // CRC-32 and length; before them bits of padding
    CHECK((!error.empty() || (!checks && contents == text)));
  }
}

TEST_CASE("what is no .gz file, or goes on after one, is an error") {
  const test::Folder folder;
  CHECK(
      has(error_of([&] { read_gzip(folder.write("a.gz", "0,1,2\n"), plenty); }), "do not inflate"));
  CHECK(!error_of([&] {
           read_gzip(folder.write("b.gz", gzipped("a") + "surplus"), plenty);
         }).empty());
  CHECK(has(error_of([&] { read_gzip(folder / "missing.gz", plenty); }), "No such file"));
}

TEST_CASE("a stream inflates to what it was made of") {
  for (const std::string& text : {std::string(), std::string("12,3\n"), long_text()}) {
    const std::string stream = zlib_stream(text);
    std::string out(text.size() + 1, '\0');
    uLongf size = out.size();
    REQUIRE(uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(stream.data()), stream.size()) == Z_OK);
    out.resize(size);
    CHECK(out == text);
  }
}

}  // namespace
}  // namespace binade::gzip_test
