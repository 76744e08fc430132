// SPDX-License-Identifier: Apache-2.0
//
// Contents before names, and the paths a command line gives.
#include "lib/io/tensor_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "lib/parallel/parallel.h"
#include "tests/lib/io/files.h"

namespace binade::tensor_file_test {
namespace {

using test::contents;
using test::dict;
using test::error_of;
using test::error_of_reading;
using test::has;
using test::npy;
using Names = std::vector<std::string>;

const std::string an_npy = npy(dict("|u1", "(2,)"), "ab");
const std::string a_safetensors =
    test::safetensors(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "cd");

TEST_CASE("the contents decide what a file is, not its name") {
  const test::Folder folder;
  CHECK(contents(*open_tensor_file(folder.write("a.safetensors", an_npy)), 0) == "ab");
  CHECK(contents(*open_tensor_file(folder.write("a.npy", a_safetensors)), 0) == "cd");
  CHECK(contents(*open_tensor_file(folder.write("a.bin", a_safetensors)), 0) == "cd");
  const std::string archive = test::zip({{.name = "a.npy", .contents = an_npy}});
  CHECK(contents(*open_tensor_file(folder.write("a", archive)), 0) == "ab");
}

TEST_CASE("a file of another kind is an error that its name makes precise") {
  const test::Folder folder;
  CHECK(has(error_of_reading(folder.write("a.txt", "hello, world")), "neither .safetensors nor"));
  using namespace std::string_literals;
  for (const auto& [name, bytes] :
       {std::pair{"old", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19."s},
        std::pair{"b.pth", "\x80\x04.."s}}) {
    const std::string says = error_of_reading(folder.write(name, bytes));
    CHECK(has(says, "a bare pickle, as torch.save wrote before 1.6"));
    CHECK(has(says, "torch.save(torch.load("));
    CHECK(!has(says, "\n"));
  }
  CHECK(has(error_of_reading(folder.write("c.npz", "PK\x03\x04")), "c.npz"));
  CHECK(has(error_of_reading(folder.write("a.npy", "hello, world")), "the contents are not .npy"));
  CHECK(has(error_of_reading(folder.write("a.npz", "hello, world")), "the contents are not .npz"));
  CHECK(has(error_of_reading(folder.write("a.safetensors", "hello, world")), "a header of"));
  CHECK(has(error_of_reading(folder.write("a.npy", "")), "empty file"));
  CHECK(has(error_of_reading(folder / "none.npy"), "none.npy: No such file"));
}

TEST_CASE("threads may read one file at the same time") {
  const test::Folder folder;
  const std::string data(std::size_t{6} << 20, 'x');
  const std::string shape = "(" + std::to_string(data.size()) + ",)";
  const auto file = open_tensor_file(folder.write(
      "a.npz",
      test::zip({{.name = "a.npy", .contents = npy(dict("|u1", shape), data), .deflate = true}})));
  bool equal[3] = {};
  std::vector<std::thread> threads;
  for (bool& same : equal) {
    threads.emplace_back([&] { same = contents(*file, 0) == data; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK((equal[0] && equal[1] && equal[2]));
}

TEST_CASE("all threads together get what one gets, whole elements at a time") {
  const test::Folder folder;
  std::string data;  // 300 001 numbers, no two alike
  for (std::uint32_t i = 0; i < 300'001; ++i) data += test::little(i * 2'654'435'761U, 4);
  const std::string array = npy(dict("<f4", "(300001,)"), data);
  const std::string files[] = {
      folder.write("a.npy", array), folder.write("b.npy", npy(dict(">f4", "(300001,)"), data)),
      folder.write(
          "c.safetensors",
          test::safetensors(R"({"x":{"dtype":"F32","shape":[300001],"data_offsets":[0,1200004]}})",
                            data)),
      folder.write("d.npz", test::zip({{.name = "a.npy", .contents = array, .deflate = true}})),
      folder.write("e.npy", npy(dict("<f4", "(0,)"), ""))};
  const auto sorted_words = [](std::string_view bytes) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < bytes.size(); at += 4) words.push_back(bytes.substr(at, 4));
    std::ranges::sort(words);
    return words;
  };
  for (const std::string& path : files) {
    CAPTURE(path);
    const auto file = open_tensor_file(path);
    std::vector<std::string> by_slot(thread_count());
    bool fits = true;
    file->read_on_threads(0, [&](std::span<const std::byte> piece, std::size_t slot) {
      if (piece.size() > std::size_t{1} << 18 || piece.size() % 4 != 0) fits = false;
      by_slot[slot].append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    CHECK(fits);
    std::string got;
    for (const std::string& part : by_slot) got += part;
    CHECK(sorted_words(got) == sorted_words(contents(*file, 0)));
  }
}

TEST_CASE("paths and globs become a sorted list of files") {
  const test::Folder folder;
  for (const char* name : {"b.npy", "a.npy", "c.npz"}) folder.write(name, "");
  std::filesystem::create_directory(folder / "d.npy");
  CHECK(expand_paths(Names{folder / "*.npy"}) == Names{folder / "a.npy", folder / "b.npy"});
  CHECK(expand_paths(Names{folder / "c.npz", folder / "a.npy"}) ==
        Names{folder / "a.npy", folder / "c.npz"});
  CHECK(expand_paths(Names{folder / "{a,b}.np?"}).size() == 2);
  CHECK(expand_paths(Names{}).empty());
}

TEST_CASE("one file is listed once, whatever names it has") {
  const test::Folder folder;
  folder.write("a.npy", "");
  std::filesystem::create_symlink(folder / "a.npy", folder / "z.npy");
  CHECK(expand_paths(Names{folder / "a.npy", folder / "*.npy", folder / "./a.npy"}).size() == 1);
}

TEST_CASE("a name with the characters of a glob is first itself") {
  const test::Folder folder;
  folder.write("a[1].npy", "");
  folder.write("a1.npy", "");
  CHECK(expand_paths(Names{folder / "a[1].npy"}) == Names{folder / "a[1].npy"});
}

TEST_CASE("a pattern without a file is an error") {
  const test::Folder folder;
  const auto expanding = [&](const std::string& name) {
    return error_of([&] { expand_paths(Names{folder / name}); });
  };
  CHECK(has(expanding("*.npy"), "matches no file"));
  CHECK(has(expanding("a.npy"), "no such file"));
  std::filesystem::create_directory(folder / "d");
  CHECK(has(expanding("*"), "matches no file"));
}

}  // namespace
}  // namespace binade::tensor_file_test
