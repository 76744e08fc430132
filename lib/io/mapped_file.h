// SPDX-License-Identifier: Apache-2.0
//
// A regular file, mapped read-only. It owns its pages and nothing else: what was read can be given
// back to the system, so a file larger than memory passes through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace binade {

class MappedFile {
 public:
  /// Error if the file is missing, unreadable or not a regular one (a folder, a pipe, a device).
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::uint64_t size() const { return bytes_.size(); }

  /// Hands a part on in pieces of at most 64 MiB and releases each behind itself.
  void stream(std::span<const std::byte> part,
              const std::function<void(std::span<const std::byte>)>& sink) const;

  /// Drops the whole pages inside a part from this process; they stay readable.
  void release(std::span<const std::byte> part) const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace binade
