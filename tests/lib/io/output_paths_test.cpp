// SPDX-License-Identifier: Apache-2.0
//
// Which names are the same file, and what remains of an attempt to write that fails.
#include "lib/io/output_paths.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "lib/text/error.h"

namespace output_paths_test {
using namespace binade;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("binade-output-paths-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
  std::string with(const char* name) const {
    std::ofstream(path / name) << name;
    return *this / name;
  }
};

std::string said(std::span<const InputPath> inputs, std::span<const OutputPath> outputs) {
  try {
    prepare_outputs(inputs, outputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the error names both, and what to do") {
  const Folder folder;
  const std::string a = folder.with("a");
  CHECK(said(std::array{InputPath{"SPEC", a}}, std::array{OutputPath{"--json", a}}) ==
        "--json " + a + ": the same file as SPEC " + a + ", which is read; name another");
  CHECK(said({}, std::array{OutputPath{"-o", folder / "b"}, OutputPath{"--json", folder / "b"}}) ==
        "--json " + folder / "b" + ": the same file as -o " + folder / "b" + "; name another");
}

TEST_CASE("two files that are there are told apart by their inodes") {
  const Folder folder;
  const std::string a = folder.with("a");
  const std::string b = folder.with("b");
  fs::create_hard_link(a, folder / "twin");
  const std::array in{InputPath{"IN", a}};
  CHECK(said(in, std::array{OutputPath{"-o", b}}).empty());
  CHECK(!said(in, std::array{OutputPath{"-o", folder / "twin"}}).empty());
}

TEST_CASE("files that are not there are told apart by their folder and name") {
  const Folder folder;
  fs::create_directory(folder / "sub");
  fs::create_directory_symlink(folder / "sub", folder / "link");
  const std::array<const char*, 4> spellings{"sub/x", "link/x", "sub/../link/x", "sub/./x"};
  for (const char* one : spellings) {
    for (const char* other : spellings) {
      CHECK(!said({},
                  std::array{OutputPath{"-o", folder / one}, OutputPath{"--json", folder / other}})
                 .empty());
    }
    CHECK(said({}, std::array{OutputPath{"-o", folder / one}, OutputPath{"--json", folder / "x"}})
              .empty());
  }
}

TEST_CASE("nothing and devices may be named twice") {
  for (const char* path : {"", "/dev/null"}) {
    CHECK(said({}, std::array{OutputPath{"-o", path}, OutputPath{"--json", path}}).empty());
  }
}

TEST_CASE("- is no file: standard output where a result may go there, else an error") {
  CHECK(said({}, std::array{OutputPath{.name = "--json", .path = "-", .or_stdout = true}}).empty());
  CHECK(said({}, std::array{OutputPath{"OUT", "-"}}) ==
        "OUT -: this result is not written to standard output; name a file");
  CHECK(!fs::exists("-"));
}

TEST_CASE("folders are made where all is well, and only there") {
  const Folder folder;
  const OutputPath dump{"--dump", folder / "one/two", OutputKind::folder};
  CHECK(
      said({}, std::array{dump, OutputPath{"-o", folder / "absent/x"}}).find("cannot be written") !=
      std::string::npos);
  CHECK(!fs::exists(folder / "one"));
  const MadeFolders made =
      prepare_outputs({}, std::array{dump, OutputPath{"-o", folder / "one/two/x"}});
  CHECK(fs::is_empty(folder / "one/two"));
  CHECK(!said({}, std::array{dump, OutputPath{"-o", folder / "absent/x"}}).empty());
  CHECK(fs::exists(folder / "one/two"));  // it was there before
}

TEST_CASE("folders that were made and stay empty are removed in the end, others are not") {
  const Folder folder;
  fs::create_directory(folder / "mine");
  {
    MadeFolders made;
    made =
        prepare_outputs({}, std::array{OutputPath{"--a", folder / "one/two", OutputKind::folder},
                                       OutputPath{"--b", folder / "one/three", OutputKind::folder},
                                       OutputPath{"--c", folder / "mine", OutputKind::folder}});
    CHECK(fs::exists(folder / "one/two"));
    CHECK(fs::exists(folder / "one/three"));
    folder.with("one/three/file");
  }
  CHECK(!fs::exists(folder / "one/two"));
  CHECK(fs::exists(folder / "one/three/file"));
  CHECK(fs::exists(folder / "mine"));
}

TEST_CASE(
    "a folder that was made by a relative name is removed where it was made, after the caller went "
    "elsewhere") {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::create_directories(folder / "here");
  fs::create_directories(folder / "there/made");
  fs::current_path(folder / "here");
  {
    MadeFolders made;
    made.make({"--dump", "made", OutputKind::folder});
    fs::current_path(folder / "there");
  }
  fs::current_path(before);
  CHECK(!fs::exists(folder / "here/made"));
  CHECK(fs::exists(folder / "there/made"));
}

TEST_CASE("a folder whose place is taken by a file is refused") {
  const Folder folder;
  folder.with("file");
  for (const char* place : {"file", "file/below"}) {
    const std::string line =
        said({}, std::array{OutputPath{"--dump", folder / place, OutputKind::folder}});
    CHECK(line.find("give another folder to --dump") != std::string::npos);
  }
}
}  // namespace output_paths_test
