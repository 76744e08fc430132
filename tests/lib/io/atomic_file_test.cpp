// SPDX-License-Identifier: Apache-2.0
//
// An output appears whole or not at all.
#include "lib/io/atomic_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>

#include "lib/io/synced.h"
#include "tests/lib/io/files.h"

namespace binade::atomic_file_test {
namespace {

/// Called in the place of fsync while it is set: returns the errno of a failure, or 0.
std::function<int(int descriptor)> in_place_of_fsync;

}  // namespace
}  // namespace binade::atomic_file_test

/// libc's, for all of this program.
extern "C" int fsync(int descriptor) {
  using binade::atomic_file_test::in_place_of_fsync;
  if (!in_place_of_fsync) return static_cast<int>(syscall(SYS_fsync, descriptor));
  errno = in_place_of_fsync(descriptor);
  return errno == 0 ? 0 : -1;
}

namespace binade::atomic_file_test {
namespace {

/// Replaces fsync until the end of its scope.
class Fsync {
 public:
  explicit Fsync(std::function<int(int)> by) { in_place_of_fsync = std::move(by); }
  ~Fsync() { in_place_of_fsync = {}; }
  Fsync(const Fsync&) = delete;
  Fsync& operator=(const Fsync&) = delete;
};

bool is_folder(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

namespace fs = std::filesystem;
using test::error_of;
using test::has;
using test::slurp;

TEST_CASE("a file appears at commit, in place of the old one") {
  const test::Folder folder;
  const std::string path = folder.write("a", "old");
  AtomicFile file(path);
  file.write("ne");
  file.write("w");
  CHECK(slurp(path) == "old");
  file.commit();
  CHECK(slurp(path) == "new");
  CHECK(folder.count() == 1);
}

TEST_CASE("a killed program leaves nothing, where the system has files without names") {
  const test::Folder folder;
  const int probe = open((folder / "").c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (probe < 0) return;
  close(probe);
  AtomicFile file(folder / "a");
  file.write("new");
  CHECK(folder.count() == 0);
  file.commit();
  CHECK(folder.count() == 1);
}

TEST_CASE(
    "the whole file is on the disk before it has its name, and its name before commit returns") {
  const test::Folder folder;
  const std::string path = folder.write("a", "old");
  std::string order;
  const Fsync watched([&](int descriptor) {
    struct stat status = {};
    (void)fstat(descriptor, &status);
    order += is_folder(descriptor) ? "folder " : std::to_string(status.st_size) + " bytes ";
    order += "behind " + slurp(path) + "; ";
    return 0;
  });
  write_file(path, "newer");
  CHECK(order == "5 bytes behind old; folder behind newer; ");
  order.clear();
  write_file("/dev/null", "a device has nothing to wait for");
  CHECK(order.empty());
}

TEST_CASE("what cannot be brought to the disk is an error, and the old file stays") {
  const test::Folder folder;
  const std::string path = folder.write("a", "old");
  {
    const Fsync failing([](int) { return EIO; });
    CHECK(error_of([&] { write_file(path, "new"); }) ==
          path +
              ": cannot be written: Input/output error; name a file in a folder that exists, is "
              "writable and has room");
  }
  CHECK(slurp(path) == "old");
  CHECK(folder.count() == 1);
  const Fsync of_folder([](int descriptor) { return is_folder(descriptor) ? EIO : 0; });
  CHECK(error_of([&] { write_file(path, "new"); }) ==
        path +
            ": written, but its folder cannot be synced: Input/output error; a loss of power may "
            "still undo it");
  CHECK(slurp(path) == "new");
}

TEST_CASE("the names of folders that are made are on the disk before the folders are used") {
  const test::Folder folder;
  std::string order;
  const Fsync watched([&](int descriptor) {
    order += fs::path(fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor)))
                 .lexically_relative(fs::canonical(folder / ""))
                 .string() +
             "; ";
    return 0;
  });
  CHECK(make_synced_folders(folder / "a/b/c/") == 0);
  CHECK(fs::is_directory(folder / "a/b/c"));
  CHECK(order == "a/b; a; .; ");
  order.clear();
  CHECK(make_synced_folders(folder / "a/b") == 0);
  CHECK(order.empty());
  folder.write("file", "x");
  CHECK(make_synced_folders(folder / "file/b") == ENOTDIR);
  in_place_of_fsync = [](int) { return EIO; };
  CHECK(make_synced_folders(folder / "d") == EIO);
}

TEST_CASE("a file system that cannot wait is no error, and a wait that a signal ends goes on") {
  const test::Folder folder;
  for (const int why : {EINVAL, ENOTSUP, ENOSYS}) {
    const Fsync unable([why](int) { return why; });
    write_file(folder / "a", "new" + std::to_string(why));
    CHECK(slurp(folder / "a") == "new" + std::to_string(why));
  }
  int calls = 0;
  const Fsync interrupted([&calls](int) { return ++calls == 1 ? EINTR : 0; });
  write_file(folder / "a", "b");
  CHECK(calls == 3);  // twice for the file, once for the folder
}

TEST_CASE("nothing remains when an exception passes") {
  const test::Folder folder;
  const std::string path = folder.write("a", "old");
  const std::string message = error_of([&] {
    AtomicFile file(path);
    file.write("new");
    throw Error("broken");
  });
  CHECK(message == "broken");
  CHECK(slurp(path) == "old");
  CHECK(folder.count() == 1);
}

TEST_CASE("the file has the permissions of any new file") {
  const test::Folder folder;
  write_file(folder / "a", "x");
  struct stat status = {};
  REQUIRE(stat((folder / "a").c_str(), &status) == 0);
  const mode_t mask = umask(0);
  umask(mask);
  CHECK((status.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("what replaces a file is as private as it was") {
  const test::Folder folder;
  write_file(folder / "a", "x");
  REQUIRE(chmod((folder / "a").c_str(), 0600) == 0);
  write_file(folder / "a", "y");
  struct stat status = {};
  REQUIRE(stat((folder / "a").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  REQUIRE(chmod((folder / "a").c_str(), 04755) == 0);
  write_file(folder / "a", "z");
  REQUIRE(stat((folder / "a").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0755);
}

TEST_CASE("two outputs in one folder do not disturb each other") {
  const test::Folder folder;
  AtomicFile a(folder / "a");
  AtomicFile b(folder / "b");
  a.write("1");
  b.write("2");
  b.commit();
  a.commit();
  CHECK(slurp(folder / "a") == "1");
  CHECK(slurp(folder / "b") == "2");
  CHECK(folder.count() == 2);
}

TEST_CASE("a symbolic link stays and its target is written") {
  const test::Folder folder;
  folder.write("a", "old");
  fs::create_symlink("a", folder / "link");
  write_file(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(slurp(folder / "a") == "new");
  fs::create_symlink("b", folder / "dangling");
  write_file(folder / "dangling", "new");
  CHECK(slurp(folder / "b") == "new");
}

TEST_CASE("a pipe is written to and stays a pipe") {
  const test::Folder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_file(pipe, "abc");
  char text[4] = {};
  CHECK(read(reader, text, 3) == 3);
  close(reader);
  CHECK(std::string(text) == "abc");
  CHECK(fs::is_fifo(pipe));
  CHECK(folder.count() == 1);
}

TEST_CASE("a place that cannot be written is an error with its reason") {
  const test::Folder folder;
  const auto writing = [](const std::string& path) {
    return error_of([&] { write_file(path, "x"); });
  };
  CHECK(has(writing(folder / "none/a"), "No such file or directory"));
  CHECK(has(writing(folder / ""), "Is a directory"));
  CHECK(has(writing(""), "Is a directory"));
  folder.write("file", "");
  CHECK(has(writing(folder / "file/a"), "Not a directory"));
  fs::create_symlink("loop", folder / "loop");
  CHECK(writing(folder / "loop") != "");
}

TEST_CASE("a write that fails midway leaves nothing") {
  const test::Folder folder;
  rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit limit = {1000, before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const std::string message = error_of([&] { write_file(folder / "a", std::string(3000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  CHECK(has(message, "a: cannot be written: File too large"));
  CHECK(folder.count() == 0);
}

TEST_CASE("a folder without permission is an error") {
  const test::Folder folder;
  REQUIRE(chmod((folder / "").c_str(), 0555) == 0);
  const test::Unprivileged nobody;
  if (!test::Unprivileged::is_so()) {
    MESSAGE("not tried: this root cannot be anybody else here");
    return;
  }
  CHECK(has(error_of([&] { write_file(folder / "a", "x"); }), "Permission denied"));
}

TEST_CASE("a folder that may be written and not read is written") {
  const test::Folder folder;
  REQUIRE(chmod((folder / "").c_str(), 0333) == 0);
  {
    const test::Unprivileged nobody;
    write_file(folder / "a", "x");
  }
  REQUIRE(chmod((folder / "").c_str(), 0755) == 0);
  CHECK(slurp(folder / "a") == "x");
}

}  // namespace
}  // namespace binade::atomic_file_test
