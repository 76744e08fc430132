// SPDX-License-Identifier: Apache-2.0
//
// A file that is read in parts, at any offset, and never mapped into memory: if it has become too
// short for what is read, an Error is thrown and no signal is raised. If it was written to, the
// next call that opens it anew throws an Error, and so does check_unchanged(), also if whoever
// wrote set the time of modification back, since the system's own time of the last change cannot be
// set. (A program that writes through a mapping of the file changes neither, and is not noticed.)
// "-" is standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

struct stat;

namespace binade {

/// Returns whether a path is standard input: "-", or /dev/stdin, to which the ":NAME" of a tensor
/// can be appended without looking like an option.
inline bool is_standard_input(std::string_view path) { return path == "-" || path == "/dev/stdin"; }

/// Returns how messages call a path: "stdin" for standard input, else the path itself.
inline std::string input_name(const std::string& path) {
  return is_standard_input(path) ? "stdin" : path;
}

class InputFile {
 public:
  /// Throws Error if the file is missing, unreadable or not a regular file (a folder, a device, a
  /// named pipe). Standard input may be anything but a folder: unless it is a regular file at its
  /// start, its bytes are copied into an unlinked temporary file, once for the whole process, so
  /// that "-" gives the same bytes each time. /dev/fd/N, which a shell's <(command) is, is treated
  /// in the same way, but copied once for each InputFile (for N = 0 once for the process).
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }  ///< as input_name() gives it
  std::uint64_t size() const { return size_; }       ///< in bytes, when it was first opened
  /// Returns the time of modification when the file was first opened, in nanoseconds since 1970.
  std::int64_t modified_ns() const;

  /// Keeps the file open while the result lives; otherwise each call below opens it anew, since a
  /// report may read more files than a process may have open.
  std::shared_ptr<const void> hold() const;

  /// Fills `out` with the bytes from offset `at` on; at + out.size() must not exceed size(). Throws
  /// Error if the file has fewer bytes. Threads may read at the same time.
  void read(std::uint64_t at, std::span<std::byte> out) const;

  /// Calls `sink` with `size` bytes, from offset `at` on, in pieces of at most 8 MiB; all pieces
  /// but the last are a multiple of 16 bytes long.
  void stream(std::uint64_t at, std::uint64_t size,
              const std::function<void(std::span<std::byte>)>& sink) const;

  /// The bytes that a thread reads at a time. They fit in a core's cache.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18;

  /// Calls `sink` with `size` bytes, from offset `at` on, on all threads and in any order. Each
  /// thread reads its own pieces, all of `piece_bytes` but the last. `slot` is the calling thread's
  /// number in parallel_for; `begin` is the piece's distance from `at`.
  void stream_on_threads(std::uint64_t at, std::uint64_t size,
                         const std::function<void(std::span<const std::byte>, std::size_t slot,
                                                  std::uint64_t begin)>& sink) const;

  /// Throws Error if the file's size or times of modification and of change are others, or if the
  /// path names another file than at first. The latter is not noticed while the file is held open.
  /// New links, owners and permissions are such a change too, since they would hide another one.
  void check_unchanged() const;

 private:
  class Descriptor;
  /// The state of the file when it was first opened.
  struct State {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::timespec modified = {}, changed = {};
    std::uint64_t links = 0;
    std::uint32_t mode = 0, user = 0, group = 0;

    explicit State(const struct stat& status);
    State() = default;
  };

  std::shared_ptr<const Descriptor> open() const;
  void check_state(const Descriptor& file) const;
  bool was_touched(const State& state) const;
  [[noreturn]] void fail_changed(const std::string& what) const;

  std::string path_;
  State first_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const Descriptor> kept_;  ///< set if it cannot be opened twice
  mutable std::mutex opening_;
  mutable std::weak_ptr<const Descriptor> opened_;
};

/// Returns a whole file. Throws Error if the file cannot be read (see InputFile), if it changes
/// meanwhile, or if it is longer than `most` bytes; `advice` ends the message of the last and says
/// what to do.
std::string read_text(const std::string& path, std::uint64_t most, std::string_view advice);

}  // namespace binade
