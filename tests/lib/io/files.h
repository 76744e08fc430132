// SPDX-License-Identifier: Apache-2.0
//
// Files made byte by byte for the tests of the readers: good ones, and any that a knob spoils.
// Built from the formats' documents only: no line of lib/io takes part.
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/tensor_file.h"
#include "lib/text/error.h"
#include "tests/lib/text/error_of.h"

namespace binade::test {

/// A folder of its own that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "binade-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for tests");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

  std::string write(std::string_view name, std::string_view bytes) const {
    std::string path = *this / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                                  std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

/// A file in memory under one name, for contents that change a hundred thousand times.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("binade-test", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("no file in memory for tests");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string write(std::string_view bytes) const {
    const auto size = static_cast<ssize_t>(bytes.size());
    if (ftruncate(descriptor_, size) != 0 ||
        pwrite(descriptor_, bytes.data(), bytes.size(), 0) != size) {
      throw std::runtime_error("a file in memory cannot be written");
    }
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

/// Without root's right to read and write everywhere, while this lives; `is_so`: whether that could be had.
class Unprivileged {
 public:
  Unprivileged() : was_(geteuid()) {
    constexpr uid_t nobody = 65534;
    if (was_ == 0) (void)!seteuid(nobody);
  }
  ~Unprivileged() {
    if (was_ == 0) (void)!seteuid(0);
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

  static bool is_so() { return geteuid() != 0; }

 private:
  uid_t was_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// `width` low bytes of a number, little-endian.
inline std::string little(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) {
    bytes += static_cast<char>(i < 8 ? value >> (8 * i) & 0xFF : 0);
  }
  return bytes;
}
/// `width` low bytes of each number, little-endian, one number after the other.
inline std::string little(const std::vector<std::uint64_t>& values, std::size_t width) {
  std::string out;
  for (const std::uint64_t x : values) out += little(x, width);
  return out;
}

inline std::string join(std::initializer_list<std::string_view> parts) {
  std::string bytes;
  for (const std::string_view part : parts) bytes += part;
  return bytes;
}

inline std::string npy(std::string_view dict, std::string_view data, int major = 1) {
  return "\x93NUMPY" + little(static_cast<std::uint64_t>(major), 2) +
         little(dict.size(), major == 1 ? 2 : 4) + std::string(dict) + std::string(data);
}

/// A dict as NumPy writes it.
inline std::string dict(std::string_view descr, std::string_view shape, bool fortran = false) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }\n";
}

inline std::string safetensors(std::string_view json, std::string_view data) {
  return little(json.size(), 8) + std::string(json) + std::string(data);
}

inline std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// A raw deflate stream, a .gz file with window 31; Z_FULL_FLUSH leaves it open and repeatable.
inline std::string deflated(std::string_view bytes, int flush = Z_FINISH, int window = -15) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, flush);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// One member; the optional fields tell lies.
struct Member {
  std::string name;
  std::string contents;
  bool deflate = false;
  bool zip64 = false;
  std::uint64_t flags = 0;
  std::optional<std::string> packed = {};
  std::optional<std::uint64_t> size = {};
  std::optional<std::uint64_t> crc = {};
  std::optional<std::uint64_t> method = {};
  std::optional<std::uint64_t> header = {};
  std::optional<std::string> local_name = {};
  std::optional<std::uint64_t> local_method = {};
  std::optional<std::uint64_t> packed_size = {};
};

struct ZipLies {
  std::optional<std::uint64_t> count = {};
  std::optional<std::uint64_t> directory_size = {};
  std::uint64_t disk = 0;
  bool zip64 = false;
  std::string comment = {};
  std::string before_directory = {};
};

inline std::string zip(const std::vector<Member>& members, const ZipLies& lies = {}) {
  constexpr std::uint64_t ones = 0xFFFFFFFF;
  std::string bytes;
  std::string directory;
  for (const Member& member : members) {
    const std::string packed =
        member.packed.value_or(member.deflate ? deflated(member.contents) : member.contents);
    const std::uint64_t size = member.size.value_or(member.contents.size());
    const std::uint64_t header = member.header.value_or(bytes.size());
    const std::uint64_t method = member.method.value_or(member.deflate ? 8 : 0);
    const std::uint64_t packed_size = member.packed_size.value_or(packed.size());
    const auto kind = [&](std::uint64_t packing) {
      return little(45, 2) + little(member.flags, 2) + little(packing, 2) + little(0, 4) +
             little(member.crc.value_or(crc_of(member.contents)), 4);
    };
    const std::string sizes =
        member.zip64 ? little(ones, 4) + little(ones, 4) : little(packed_size, 4) + little(size, 4);
    const std::string wide = little(size, 8) + little(packed_size, 8);
    const std::string local_extra = member.zip64 ? little(1, 2) + little(16, 2) + wide : "";
    const std::string extra = member.zip64 ? little(0x7855, 2) + little(0, 2) + little(1, 2) +
                                                 little(24, 2) + wide + little(header, 8)
                                           : "";
    const std::string local_name = member.local_name.value_or(member.name);
    bytes += join({little(0x04034b50, 4), kind(member.local_method.value_or(method)), sizes,
                   little(local_name.size(), 2), little(local_extra.size(), 2), local_name,
                   local_extra, packed});
    directory += join({little(0x02014b50, 4), little(45, 2), kind(method), sizes,
                       little(member.name.size(), 2), little(extra.size(), 2), little(0, 10),
                       little(member.zip64 ? ones : header, 4), member.name, extra});
  }
  bytes += lies.before_directory;
  const std::uint64_t start = bytes.size();
  const std::uint64_t count = lies.count.value_or(members.size());
  const std::uint64_t size = lies.directory_size.value_or(directory.size());
  bytes += directory;
  if (lies.zip64) {
    const std::uint64_t end = bytes.size();
    bytes += little(0x06064b50, 4) + little(44, 8) + little(45, 2) + little(45, 2) +
             little(lies.disk, 4) + little(0, 4) + little(count, 8) + little(count, 8) +
             little(size, 8) + little(start, 8);
    bytes += little(0x07064b50, 4) + little(0, 4) + little(end, 8) + little(1, 4);
  }
  return bytes + little(0x06054b50, 4) + little(lies.zip64 ? 0 : lies.disk, 2) + little(0, 2) +
         little(lies.zip64 ? 0xFFFF : count, 2) + little(lies.zip64 ? 0xFFFF : count, 2) +
         little(lies.zip64 ? ones : size, 4) + little(lies.zip64 ? ones : start, 4) +
         little(lies.comment.size(), 2) + lies.comment;
}

/// All bytes of one tensor, as the sink gets them.
inline std::string contents(const TensorFile& file, std::size_t index) {
  std::string bytes;
  file.read(index, [&](std::span<const std::byte> part) {
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
  });
  return bytes;
}

/// The Error of opening a file and reading all of it.
inline std::string error_of_reading(const std::string& path, const OpenOptions& options = {}) {
  return error_of([&] {
    const auto file = open_tensor_file(path, options);
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      if (file->tensors()[i].dtype.kind == DtypeKind::packed) continue;
      std::uint64_t bytes = 0;
      file->read(i, [&](std::span<const std::byte> part) { bytes += part.size(); });
      if (bytes != file->tensors()[i].bytes) throw std::logic_error("not all bytes delivered");
    }
  });
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace binade::test
