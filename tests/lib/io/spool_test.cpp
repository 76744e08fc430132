// SPDX-License-Identifier: Apache-2.0
//
// What is written to a spool is read back from it, short or long, and no file remains.
#include "lib/io/spool.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/lib/io/files.h"

namespace binade::test::spool_test {
namespace {

std::string contents(const Spool& spool) {
  std::string out;
  spool.copy_to([&out](std::string_view text) { out += text; });
  return out;
}

TEST_CASE("text comes out as it went in, as often as it is asked for") {
  const Folder folder;
  for (const int lines : {0, 1, 1000, 300000}) {
    Spool spool(folder / "");
    std::string all;
    for (int i = 0; i < lines; ++i) {
      const std::string line = std::to_string(i) + "\n";
      spool.add(line);
      all += line;
    }
    CHECK(spool.empty() == (lines == 0));
    CHECK(contents(spool) == all);
    CHECK(contents(spool) == all);
    CHECK(folder.count() == 0);  // the file has no name
  }
}

TEST_CASE("a folder that cannot hold the text is told") {
  Spool spool("/dev/null/folder");
  CHECK(
      has(error_of([&] { spool.add(std::string(2 << 20, 'x')); }), "cannot hold a temporary file"));
}

TEST_CASE("where there is no folder for temporary files, the message says which was looked for") {
  const char* const set = std::getenv("TMPDIR");
  const std::string before = set != nullptr ? set : "";
  setenv("TMPDIR", "/dev/null/folder", 1);
  Spool spool;
  const std::string said = error_of([&] { spool.add(std::string(2 << 20, 'x')); });
  set != nullptr ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
  CHECK(said.starts_with("/tmp or TMPDIR: cannot hold a temporary file: "));
}

}  // namespace
}  // namespace binade::test::spool_test
