// SPDX-License-Identifier: Apache-2.0
//
// Reads with POSIX calls at given offsets.
#include "lib/io/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {

class InputFile::Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

namespace {

constexpr std::size_t most_streamed = std::size_t{8} << 20;

[[noreturn]] void fail_to_keep(const std::string& name, int error) {
  throw file_error(name, std::string("cannot be kept in a temporary file: ") + std::strerror(error),
                   "set TMPDIR to a folder that is writable and has room");
}

/// Returns the descriptor of a new temporary file that has no name.
int temporary_file(const std::string& of) {
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (failed) fail_to_keep(of, failed.value());
  std::string name = (folder / "binade-XXXXXX").string();
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) fail_to_keep(of, errno);
  unlink(name.c_str());
  return file;
}

/// Copies the bytes of a pipe or a terminal up to their end.
void copy_all(int from, int to, const std::string& name) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (true) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_error(name, std::strerror(errno), "pipe data in, or name a file");
    if (got == 0) return;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail_to_keep(name, errno);
      done += put;
    }
  }
}

/// Returns N of /dev/fd/N, 0 for standard input, or -1 for other paths.
int named_descriptor(const std::string& path) {
  constexpr std::string_view folder = "/dev/fd/";
  if (is_standard_input(path)) return STDIN_FILENO;
  if (!path.starts_with(folder)) return -1;
  int number = -1;
  const auto [end, error] =
      std::from_chars(path.data() + folder.size(), path.data() + path.size(), number);
  return error == std::errc() && end == path.data() + path.size() ? number : -1;
}

bool same_time(const std::timespec& a, const std::timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Returns whether a descriptor can be read only once, from its current offset on.
bool flows(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || S_ISDIR(status.st_mode)) return false;
  return !S_ISREG(status.st_mode) || lseek(descriptor, 0, SEEK_CUR) != 0;
}

/// Returns the status of a regular file. Throws Error for anything else, since only regular files
/// can be read at any offset.
struct stat status_of(int descriptor, const std::string& name) {
  struct stat status = {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const bool many = errno == EMFILE || errno == ENFILE;
    throw file_error(name, std::strerror(errno),
                     many ? "raise the limit of open files (ulimit -n)"
                          : "name a file that exists and is readable");
  }
  if (S_ISDIR(status.st_mode)) {
    throw file_error(name, "this is a folder",
                     "name the files in it, as in 'folder/*.safetensors'");
  }
  if (!S_ISREG(status.st_mode)) {
    throw file_error(name, "not a regular file",
                     "pipe the data in and name '-', or write them to a file");
  }
  return status;
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(input_name(path)) {
  const int given = named_descriptor(path);
  if (given >= 0 && flows(given)) {
    // Standard input is copied once for all of its readers.
    static std::mutex keeping;
    static std::shared_ptr<const Descriptor> standard_input;
    const std::lock_guard lock(keeping);
    std::shared_ptr<const Descriptor> kept = given == STDIN_FILENO ? standard_input : nullptr;
    if (!kept) {
      kept = std::make_shared<const Descriptor>(temporary_file(path_));
      copy_all(given, kept->number(), path_);
      if (given == STDIN_FILENO) standard_input = kept;
    }
    kept_ = std::move(kept);
  } else if (given >= 0) {
    kept_ = std::make_shared<const Descriptor>(fcntl(given, F_DUPFD_CLOEXEC, 0));
  }
  const auto file = open();
  first_ = State(status_of(file->number(), path_));
  size_ = first_.size;
}

InputFile::~InputFile() = default;

InputFile::State::State(const struct stat& status)
    : device(status.st_dev),
      inode(status.st_ino),
      size(static_cast<std::uint64_t>(status.st_size)),
      modified(status.st_mtim),
      changed(status.st_ctim),
      links(status.st_nlink),
      mode(status.st_mode),
      user(status.st_uid),
      group(status.st_gid) {}

std::shared_ptr<const InputFile::Descriptor> InputFile::open() const {
  if (kept_) return kept_;
  const std::lock_guard lock(opening_);
  if (auto file = opened_.lock()) return file;
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  auto file =
      std::make_shared<const Descriptor>(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  (void)status_of(file->number(), path_);
  posix_fadvise(file->number(), 0, 0, POSIX_FADV_SEQUENTIAL);
  if (first_.inode != 0) check_state(*file);
  opened_ = file;
  return file;
}

std::shared_ptr<const void> InputFile::hold() const { return open(); }

void InputFile::read(std::uint64_t at, std::span<std::byte> out) const {
  const auto file = open();
  while (!out.empty()) {
    const ssize_t got = pread(file->number(), out.data(), out.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw error_at(path_, std::strerror(errno), at, "copy the file elsewhere");
    if (got == 0) {
      check_state(*file);
      fail_changed("it ends earlier");
    }
    out = out.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
}

void InputFile::stream(std::uint64_t at, std::uint64_t size,
                       const std::function<void(std::span<std::byte>)>& sink) const {
  const auto held = hold();
  std::vector<std::byte> buffer(std::min<std::uint64_t>(size, most_streamed));
  while (size != 0) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(size, buffer.size()));
    read(at, piece);
    sink(piece);
    at += piece.size();
    size -= piece.size();
  }
}

void InputFile::stream_on_threads(
    std::uint64_t at, std::uint64_t size,
    const std::function<void(std::span<const std::byte>, std::size_t slot, std::uint64_t begin)>&
        sink) const {
  const auto held = hold();
  std::vector<std::vector<std::byte>> buffers(thread_count());
  parallel_for(size, piece_bytes, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    std::vector<std::byte>& buffer = buffers[slot];
    buffer.resize(std::max(buffer.size(), end - begin));
    const auto piece = std::span(buffer).first(end - begin);
    read(at + begin, piece);
    sink(piece, slot, begin);
  });
}

std::int64_t InputFile::modified_ns() const {
  constexpr std::int64_t ns_of_second = 1'000'000'000;
  return std::int64_t{first_.modified.tv_sec} * ns_of_second + first_.modified.tv_nsec;
}

void InputFile::check_unchanged() const { check_state(*open()); }

void InputFile::check_state(const Descriptor& file) const {
  const State state(status_of(file.number(), path_));
  if (state.device != first_.device || state.inode != first_.inode) {
    fail_changed("another file has its name");
  }
  if (state.size != first_.size) {
    fail_changed("it had " + std::to_string(first_.size) + " bytes, then " +
                 std::to_string(state.size));
  }
  if (!same_time(state.modified, first_.modified)) fail_changed("it was written to");
  if (was_touched(state)) {
    fail_changed("it was written to, or its times, links, owner or permissions were set");
  }
}

/// Returns whether the time of the last change is another one, and the file still has its name, if
/// it has one (a file that was replaced or moved while it is held open has lost it, and its
/// contents stay). Other links, owners and permissions change that time too, and whoever set them
/// may have written besides.
bool InputFile::was_touched(const State& state) const {
  if (same_time(state.changed, first_.changed)) return false;
  struct stat named = {};
  return kept_ || (stat(path_.c_str(), &named) == 0 && named.st_dev == first_.device &&
                   named.st_ino == first_.inode);
}

void InputFile::fail_changed(const std::string& what) const {
  throw file_error(path_, "changed while it was read (" + what + ")",
                   "run this again when nothing writes to the file");
}

std::string read_text(const std::string& path, std::uint64_t most, std::string_view advice) {
  const InputFile file(path);
  const auto held = file.hold();
  if (file.size() > most) {
    throw error_in(file.path(), "more than " + std::to_string(most) + " bytes", advice);
  }
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  file.check_unchanged();
  return text;
}

}  // namespace binade
