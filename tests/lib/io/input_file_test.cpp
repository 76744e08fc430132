// SPDX-License-Identifier: Apache-2.0
//
// Which files can be read and which cannot. Streaming gives every byte once, and a file that
// changes while it is read is an Error in every reader.
#include "lib/io/input_file.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/lib/io/files.h"

namespace binade::input_file_test {
namespace {

using test::error_of;
using test::has;

TEST_CASE("a file's bytes are read at any place") {
  const test::Folder folder;
  const InputFile file(folder.write("a", "12345"));
  REQUIRE(file.size() == 5);
  std::array<std::byte, 2> two{};
  file.read(3, two);
  CHECK(std::to_integer<char>(two[0]) == '4');
  CHECK(std::to_integer<char>(two[1]) == '5');
  file.read(5, {});
}

TEST_CASE("an empty file has no bytes") {
  const test::Folder folder;
  const InputFile file(folder.write("a", ""));
  CHECK(file.size() == 0);
  file.stream(0, 0, [](auto) { FAIL("there is nothing to hand on"); });
}

TEST_CASE("what is no readable regular file is an error with its reason") {
  const test::Folder folder;
  const auto opening = [](const std::string& path) {
    return error_of([&] { const InputFile file(path); });
  };
  CHECK(has(opening(folder / "missing"), "No such file"));
  CHECK(has(opening(folder / ""), "folder"));
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(has(opening(pipe), "not a regular file; pipe the data in and name '-'"));
  CHECK(has(opening("/dev/null"), "not a regular file"));
}

TEST_CASE("a file without permission is an error") {
  const test::Folder folder;
  const std::string path = folder.write("a", "1");
  REQUIRE(chmod((folder / "").c_str(), 0755) == 0);
  REQUIRE(chmod(path.c_str(), 0444) == 0);
  const auto opening = [&] { return error_of([&] { const InputFile file(path); }); };
  bool readable = false;  // only root may be able to read the folder of temporary files
  {
    const test::Unprivileged nobody;
    readable = test::Unprivileged::is_so() && opening().empty();
  }
  if (!readable) {
    MESSAGE("not tried: this root cannot be anybody else here");
    return;
  }
  REQUIRE(chmod(path.c_str(), 0) == 0);
  const test::Unprivileged nobody;
  CHECK(has(opening(), "Permission denied"));
}

TEST_CASE("streaming gives each byte once, in order, in pieces of at most 8 MiB") {
  const test::Folder folder;
  std::string bytes((std::size_t{18} << 20) + 3, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 4093) bytes[i] = static_cast<char>(i / 4093);
  const InputFile file(folder.write("a", bytes));
  for (int pass = 0; pass < 2; ++pass) {
    std::size_t at = 1;
    std::vector<std::size_t> pieces;
    bool equal = true;
    file.stream(1, bytes.size() - 1, [&](std::span<std::byte> part) {
      equal = equal && std::memcmp(part.data(), bytes.data() + at, part.size()) == 0;
      at += part.size();
      pieces.push_back(part.size());
      part[0] = std::byte{0xFF};  // the receiver's own
    });
    CHECK(equal);
    CHECK(at == bytes.size());
    CHECK(pieces == std::vector<std::size_t>{8 << 20, 8 << 20, (2 << 20) + 2});
  }
}

void set_time(const std::string& path, std::chrono::nanoseconds later) {
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + later);
}

TEST_CASE("a change of size or of time is one line") {
  const test::Folder folder;
  const std::string path = folder.write("a", "12345");
  const auto complaint = [&](auto change) {
    const InputFile file(folder.write("a", "12345"));
    file.check_unchanged();
    change();
    return error_of([&] { file.check_unchanged(); });
  };
  const std::string advice = "; run this again when nothing writes to the file";
  const auto resize = [&](std::uintmax_t size) {
    return [&path, size] { std::filesystem::resize_file(path, size); };
  };
  CHECK(complaint([] {}).empty());
  CHECK(complaint(resize(3)) ==
        path + ": changed while it was read (it had 5 bytes, then 3)" + advice);
  CHECK(complaint(resize(7)) ==
        path + ": changed while it was read (it had 5 bytes, then 7)" + advice);
  CHECK(complaint([&] { set_time(path, std::chrono::nanoseconds(1)); }) ==
        path + ": changed while it was read (it was written to)" + advice);
  CHECK(complaint([&] { set_time(path, -std::chrono::hours(1)); }) ==
        path + ": changed while it was read (it was written to)" + advice);
}

timespec changed_at(const std::string& path) {
  struct stat status = {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_ctim;
}

/// Returns when a change of a file gets another time than its last one had.
void let_time_pass(const test::Folder& folder, const std::string& path) {
  const timespec last = changed_at(path);
  timespec now = last;
  while (now.tv_sec == last.tv_sec && now.tv_nsec == last.tv_nsec) {
    now = changed_at(folder.write("clock", "tick"));
  }
}

TEST_CASE("what is rewritten in place is noticed though its time of modification is set back") {
  const test::Folder folder;
  const std::string path = folder.write("a", "12345");
  struct stat status = {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  const InputFile file(path), held(path);
  const auto holding = held.hold();
  let_time_pass(folder, path);
  std::fstream(path, std::ios::in | std::ios::out) << "54321";
  const timespec times[]{status.st_atim, status.st_mtim};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  const std::string said =
      path +
      ": changed while it was read (it was written to, or its times, links, owner or "
      "permissions were set); run this again when nothing writes to the file";
  std::array<std::byte, 5> five{};
  CHECK(error_of([&] { file.read(0, five); }) == said);
  CHECK(error_of([&] { held.check_unchanged(); }) == said);
}

TEST_CASE("links and permissions that are set could hide that a file was rewritten") {
  const test::Folder folder;
  const std::string path = folder.write("a", "12345");
  const auto complaint = [&](auto change) {
    const InputFile file(path), held(path);
    const auto holding = held.hold();
    let_time_pass(folder, path);
    change();
    const std::string said = error_of([&] { file.check_unchanged(); });
    CHECK(error_of([&] { held.check_unchanged(); }) == said);
    return said;
  };
  const char* const set = "(it was written to, or its times, links, owner or permissions were set)";
  CHECK(has(complaint([&] { std::filesystem::create_hard_link(path, folder / "link"); }), set));
  CHECK(has(complaint([&] { REQUIRE(chmod(path.c_str(), 0600) == 0); }), set));
}

TEST_CASE("a file that is moved while it is held is read to its end") {
  const test::Folder folder;
  const std::string path = folder.write("a", "12345");
  const InputFile moved(path);
  const auto holding = moved.hold();
  let_time_pass(folder, path);
  std::filesystem::rename(path, folder / "moved");
  moved.check_unchanged();
}

TEST_CASE(
    "a file that another one replaces is read to its end while it is held, and then no more") {
  const test::Folder folder;
  const std::string path = folder.write("a", "12345");
  const InputFile file(path);
  std::array<std::byte, 5> five{};
  {
    const auto held = file.hold();
    std::filesystem::rename(folder.write("b", "54321"), path);
    file.read(0, five);
    CHECK(std::to_integer<char>(five[4]) == '5');
    file.check_unchanged();
  }
  CHECK(has(error_of([&] { file.read(0, five); }), "(another file has its name)"));
  std::filesystem::remove(path);
  CHECK(has(error_of([&] { file.read(0, five); }), "No such file"));
}

TEST_CASE("more files may be read than may be open") {
  const test::Folder folder;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 40;
  std::vector<std::unique_ptr<TensorFile>> files;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  for (int i = 0; i < 60; ++i) {
    files.push_back(open_tensor_file(
        folder.write(std::to_string(i), test::npy(test::dict("<f4", "(1,)"), "abcd"))));
  }
  std::size_t bytes = 0;
  for (const auto& file : files) file->read(0, [&](auto piece) { bytes += piece.size(); });
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(bytes == 240);
}

TEST_CASE("what is cut off meanwhile is no signal but an Error, wherever reading stands") {
  const test::Folder folder;
  const std::string path = folder.write("a", std::string(std::size_t{17} << 20, 'x'));
  const InputFile file(path);
  int pieces = 0;
  const std::string said = error_of([&] {
    file.stream(0, file.size(), [&](auto) {
      if (++pieces == 1) std::filesystem::resize_file(path, 100);
    });
  });
  CHECK(pieces == 1);
  CHECK(has(said, "changed while it was read (it had 17825792 bytes, then 100)"));
}

/// A file of each kind, of one tensor "a" of 3 Mi floats or a little more than one piece.
struct Kind {
  const char* name;
  std::string bytes;
};

std::vector<Kind> kinds() {
  const std::string data(std::size_t{12} << 20, 'x');
  const std::string array = test::npy(test::dict("<f4", "(3145728,)"), data);
  return {{"a.npy", array},
          {"big_endian.npy", test::npy(test::dict(">f4", "(3145728,)"), data)},
          {"a.safetensors",
           test::safetensors(
               R"({"a":{"dtype":"F32","shape":[3145728],"data_offsets":[0,12582912]}})", data)},
          {"stored.npz", test::zip({{.name = "a.npy", .contents = array}})},
          {"deflated.npz", test::zip({{.name = "a.npy", .contents = array, .deflate = true}})}};
}

void check_changes(bool on_threads) {
  const test::Folder folder;
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    for (const bool before : {true, false}) {  // the first piece is read, or after it
      CAPTURE(before);
      for (const char* how : {"cut", "grown", "rewritten"}) {
        CAPTURE(how);
        const std::string path = folder.write(kind.name, kind.bytes);
        const auto file = open_tensor_file(path);
        CHECK(error_of([&] { file->read(0, [](auto) {}); }).empty());
        const auto change = [&] {
          if (how[0] == 'c') std::filesystem::resize_file(path, kind.bytes.size() / 2);
          if (how[0] == 'g') std::ofstream(path, std::ios::app) << "more";
          if (how[0] == 'r') {
            std::fstream(path, std::ios::in | std::ios::out).seekp(64) << std::string(4096, 'y');
            set_time(path, std::chrono::milliseconds(10));
          }
        };
        std::atomic<int> pieces = 0;
        const auto first_changes = [&](auto...) {
          if (++pieces == 1 && !before) change();
        };
        if (before) change();
        const std::string said = error_of([&] {
          if (on_threads) return file->read_on_threads(0, first_changes);
          file->read(0, first_changes);
        });
        CHECK(has(said, "changed while it was read"));
        CHECK(said.starts_with(path));
      }
    }
  }
}

TEST_CASE("every reader tells that its file changed, by whatever it stumbles over") {
  check_changes(false);
}

TEST_CASE("and so it does on all threads") { check_changes(true); }

TEST_CASE("a whole text is read, unless it is too long") {
  const test::Folder folder;
  const std::string path = folder.write("a", "12345");
  CHECK(read_text(path, 5, "") == "12345");
  CHECK(error_of([&] { (void)read_text(path, 4, "give less"); }) ==
        path + ": more than 4 bytes; give less");
}

}  // namespace
}  // namespace binade::input_file_test
