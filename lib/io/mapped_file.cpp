// SPDX-License-Identifier: Apache-2.0
//
// Mapping of a regular file with POSIX calls.
#include "lib/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/tensor/error.h"

namespace binade {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status = {};
  if (file.number < 0 || fstat(file.number, &status) != 0) {
    throw error_in(path, std::strerror(errno), "name a file that exists and is readable");
  }
  if (S_ISDIR(status.st_mode)) {
    throw error_in(path, "this is a folder", "name the files in it, as in 'folder/*.safetensors'");
  }
  if (!S_ISREG(status.st_mode)) {
    throw error_in(path, "not a regular file", "write the data to a file first");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (start == MAP_FAILED) {
    throw error_in(path, std::string("cannot be mapped: ") + std::strerror(errno),
                   "raise the limit of address space (ulimit -v)");
  }
  madvise(start, size, MADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(start), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::stream(std::span<const std::byte> part,
                        const std::function<void(std::span<const std::byte>)>& sink) const {
  constexpr std::size_t most = std::size_t{64} << 20;
  while (!part.empty()) {
    const auto piece = part.first(std::min(most, part.size()));
    sink(piece);
    release(piece);
    part = part.subspan(piece.size());
  }
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto start = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t first = (start + page - 1) / page * page;
  const std::size_t last = (start + part.size()) / page * page;
  if (first >= last) return;
  madvise(const_cast<std::byte*>(bytes_.data()) + first, last - first, MADV_DONTNEED);
}

}  // namespace binade
