// SPDX-License-Identifier: Apache-2.0
//
// A file that is read in parts at any place, and never mapped: one that shrinks or is written to while it is read
// gives an Error, not a signal. (Who writes through a mapping of the file leaves no trace in its time of modification,
// and is not noticed.) "-" is standard input.
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

namespace binade {

/// "-"; and its other name, to which ":NAME" of a tensor can be added without looking like an option.
inline bool is_standard_input(std::string_view path) { return path == "-" || path == "/dev/stdin"; }

/// What a path is called in words: "stdin" for standard input.
inline std::string input_name(const std::string& path) {
  return is_standard_input(path) ? "stdin" : path;
}

class InputFile {
 public:
  /// Error if the file is missing, unreadable or not a regular one (a folder, a device, a pipe that has a name).
  /// Standard input may be anything; unless it is a regular file at its start, it is kept in an unlinked temporary
  /// one, once for the whole process, so "-" names the same bytes each time. So is what /dev/fd/N is, of a shell's
  /// <(command).
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }  ///< its input_name
  std::uint64_t size() const { return size_; }       ///< in bytes, at first
  std::int64_t modified_ns() const;                  ///< since 1970, at first

  /// The file is open while this lives, else for each call below anew: a report may be on more files than may be open.
  std::shared_ptr<const void> hold() const;

  /// Fills `out` from `at`; at + out.size() <= size(). Error if fewer bytes are there. Threads may read at the
  /// same time.
  void read(std::uint64_t at, std::span<std::byte> out) const;

  /// Hands `size` bytes from `at` on in pieces of at most 8 MiB; all but the last are a multiple of 16 bytes long.
  void stream(std::uint64_t at, std::uint64_t size,
              const std::function<void(std::span<std::byte>)>& sink) const;

  /// What a thread takes at a time: a core's cache holds it.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18;

  /// Hands `size` bytes from `at` on to all threads, each reading its own, in any order: in pieces of at most
  /// `piece_bytes`, which all but the last have. `slot` is parallel_for's; `begin` counts from `at`.
  void stream_on_threads(std::uint64_t at, std::uint64_t size,
                         const std::function<void(std::span<const std::byte>, std::size_t slot,
                                                  std::uint64_t begin)>& sink) const;

  /// Error if it is another file than at first, or size or time of modification are not what they were.
  void check_unchanged() const;

 private:
  class Descriptor;
  /// What a file was when it was first opened.
  struct State {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::timespec modified = {};
  };

  std::shared_ptr<const Descriptor> open() const;
  void check_state(const Descriptor& file) const;
  [[noreturn]] void fail_changed(const std::string& what) const;

  std::string path_;
  State first_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const Descriptor> kept_;  ///< what cannot be opened twice
  mutable std::mutex opening_;
  mutable std::weak_ptr<const Descriptor> opened_;
};

/// A whole file that did not change meanwhile. Error if it is longer than `most` bytes; `advice` says what to do
/// then.
std::string read_text(const std::string& path, std::uint64_t most, std::string_view advice);

}  // namespace binade
