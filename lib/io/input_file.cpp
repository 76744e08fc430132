// SPDX-License-Identifier: Apache-2.0
//
// Reading with POSIX calls, at given offsets.
#include "lib/io/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/tensor/error.h"

namespace binade {
namespace {

constexpr std::size_t most_streamed = std::size_t{8} << 20;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

[[noreturn]] void fail_to_keep(int error) {
  throw error_in("stdin",
                 std::string("cannot be kept in a temporary file: ") + std::strerror(error),
                 "set TMPDIR to a folder that is writable and has room");
}

/// The bytes of a pipe or a terminal, up to their end, in a file without a name.
int keep_standard_input() {
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (failed) fail_to_keep(failed.value());
  std::string name = (folder / "binade-XXXXXX").string();
  Descriptor kept(mkostemp(name.data(), O_CLOEXEC));
  if (kept.get() < 0) fail_to_keep(errno);
  unlink(name.c_str());
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw error_in("stdin", std::strerror(errno), "pipe data in, or name a file");
    if (got == 0) return kept.release();
    for (ssize_t done = 0; done < got;) {
      const ssize_t put =
          ::write(kept.get(), buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail_to_keep(errno);
      done += put;
    }
  }
}

int open_standard_input() {
  struct stat status = {};
  if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
      lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
    return STDIN_FILENO;
  }
  static const int kept = keep_standard_input();
  return kept;
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(input_name(path)) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  Descriptor file(is_standard_input(path) ? fcntl(open_standard_input(), F_DUPFD_CLOEXEC, 0)
                                          : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    throw error_in(path_, std::strerror(errno), "name a file that exists and is readable");
  }
  if (S_ISDIR(status.st_mode)) {
    throw error_in(path_, "this is a folder", "name the files in it, as in 'folder/*.safetensors'");
  }
  if (!S_ISREG(status.st_mode)) {
    throw error_in(path_, "not a regular file",
                   "pipe the data in and name '-', or write them to a file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  modified_ = status.st_mtim;
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  descriptor_ = file.release();
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(std::uint64_t at, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw error_at(path_, std::strerror(errno), at, "copy the file elsewhere");
    if (got == 0) {
      check_unchanged();
      fail_changed(at);
    }
    out = out.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
}

void InputFile::stream(std::uint64_t at, std::uint64_t size,
                       const std::function<void(std::span<std::byte>)>& sink) const {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(size, most_streamed));
  while (size != 0) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(size, buffer.size()));
    read(at, piece);
    sink(piece);
    at += piece.size();
    size -= piece.size();
  }
}

void InputFile::check_unchanged() const {
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0) {
    throw error_in(path_, std::strerror(errno), "name a file that exists and is readable");
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const bool same_time =
      status.st_mtim.tv_sec == modified_.tv_sec && status.st_mtim.tv_nsec == modified_.tv_nsec;
  if (size != size_ || !same_time) fail_changed(size);
}

void InputFile::fail_changed(std::uint64_t size) const {
  const std::string what =
      size == size_ ? "it was written to"
                    : "it had " + std::to_string(size_) + " bytes, then " + std::to_string(size);
  throw error_in(path_, "changed while it was read (" + what + ")",
                 "run this again when nothing writes to the file");
}

std::string read_text(const std::string& path, std::uint64_t most, std::string_view advice) {
  const InputFile file(path);
  if (file.size() > most) {
    throw error_in(file.path(), "more than " + std::to_string(most) + " bytes", advice);
  }
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  file.check_unchanged();
  return text;
}

}  // namespace binade
