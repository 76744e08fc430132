// SPDX-License-Identifier: Apache-2.0
//
// Patterns of file names, and those that stand for more names than a machine can hold.
#include "lib/io/file_pattern.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/lib/io/files.h"
#include "tests/lib/text/error_of.h"

namespace binade::file_pattern_test {
namespace {

using test::error_of;
using test::has;

std::string repeated(const char* text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST_CASE("a pattern matches as in a shell") {
  const test::Folder folder;
  for (const char* name : {"a.npy", "b.npy", "c{1}.npz"}) folder.write(name, "");
  std::filesystem::create_directory(folder / "d");
  folder.write("d/a.npy", "");
  const auto matched = [&](const std::string& pattern) {
    std::vector<std::string> names = paths_matching(folder / pattern);
    std::ranges::sort(names);
    for (std::string& name : names) name.erase(0, (folder / "").size());
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(matched("[ab].np?") == Names{"a.npy", "b.npy"});
  CHECK(matched("{d/a,b,{a,none}}.npy") == Names{"a.npy", "b.npy", "d/a.npy"});
  CHECK(matched("*/*.npy") == Names{"d/a.npy"});
  CHECK(matched("d/../{a,b}.npy") == Names{"d/../a.npy", "d/../b.npy"});
  CHECK(matched("*/none").empty());
  CHECK(matched("c{1}.npz").empty());
  CHECK(matched("{\\a,\\b}.npy") == Names{"a.npy", "b.npy"});
  CHECK(is_file_pattern("a[1]"));
  CHECK_FALSE(is_file_pattern("a,b}"));
}

TEST_CASE("a pattern of more alternatives or longer than can be tried is refused at once") {
  const auto complaint = [](const std::string& pattern) {
    return error_of([&] { (void)paths_matching(pattern); });
  };
  const std::string refused = "more than 10,000 alternatives in braces; use * or several patterns";
  CHECK(has(complaint(repeated("{a,b}", 22)), refused));
  CHECK(has(complaint(repeated("{a,b}", 700)), refused));
  CHECK(has(complaint("{a," + repeated("{a,b}", 14) + "}"), refused));
  CHECK(has(complaint(repeated("{\\},}", 40)), refused));
  CHECK(has(complaint(repeated("{\\},b}", 680)), refused));
  CHECK(has(complaint(repeated("{a,b}", 13) + repeated("{c}", 1300)),
            "too many braces and alternatives for a pattern of its length"));
  CHECK(has(complaint(repeated("*/", 3000)), "longer than a path; give several patterns"));
  CHECK(complaint(repeated("{", 4000)).empty());
  CHECK(complaint(repeated("{", 2000) + repeated("}", 2000)).empty());
  CHECK(complaint("/none{" + repeated("a,", 2000) + "b}").empty());
}

TEST_CASE("a pattern whose folders multiply ends") {
  const test::Folder folder;
  for (const char c : std::string("abcdefghijklmnop")) {
    std::filesystem::create_directory(folder / std::string(250, c));
  }
  CHECK(has(error_of([&] { (void)paths_matching(folder / repeated("*/../", 8)); }),
            "than 50 MB of names; name them closer"));
  CHECK(paths_matching(folder / "*").size() == 16);
}

}  // namespace
}  // namespace binade::file_pattern_test
