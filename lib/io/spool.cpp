// SPDX-License-Identifier: Apache-2.0
//
// A buffer in memory before a temporary file without a name.
#include "lib/io/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t spooled_in_memory = std::size_t{1} << 20;

}  // namespace

Spool::~Spool() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Spool::fail(int error) const {
  throw file_error(folder_.empty() ? "/tmp or TMPDIR" : folder_,
                   std::string("cannot hold a temporary file: ") + std::strerror(error),
                   "make room, or set TMPDIR to a folder that is writable and has room");
}

void Spool::add(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() > spooled_in_memory) flush();
}

void Spool::flush() {
  if (descriptor_ < 0) {
    std::error_code failed;
    if (folder_.empty()) folder_ = std::filesystem::temp_directory_path(failed).string();
    if (failed) fail(failed.value());
    std::string name = (std::filesystem::path(folder_) / ".binade-XXXXXX").string();
    descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    unlink(name.c_str());
  }
  for (std::string_view rest = buffer_; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void Spool::copy_to(const TextSink& sink) const {
  std::vector<char> piece(descriptor_ < 0 ? 0 : spooled_in_memory);
  for (off_t at = 0; descriptor_ >= 0;) {
    const ssize_t got = pread(descriptor_, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    sink({piece.data(), static_cast<std::size_t>(got)});
    at += got;
  }
  if (!buffer_.empty()) sink(buffer_);
}

}  // namespace binade
