// SPDX-License-Identifier: Apache-2.0
//
// The part of the zip format that .npz and torch.save need: stored and deflated members, zip64,
// CRC-32. The reader is strict: the central directory is authoritative, every local header must
// have the name and the method that it states (sizes and checksum there are not looked at), members
// may not overlap, and an Error is thrown unless a member gives exactly the bytes that its entry
// announces.
//
//   (local header | name | extra | data)... | central directory | [zip64 end] | end
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/input_file.h"

namespace binade {

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t size = 0;         ///< bytes of the contents, inflated
  std::uint64_t header = 0;       ///< offset of its local header in the file
  std::uint64_t packed_at = 0;    ///< offset of its data in the file
  std::uint64_t packed_size = 0;  ///< bytes of its data in the file
};

/// Returns the members of the archive that fills the file, or `size` bytes of it from offset
/// `begin`, in the order of their data. Throws Error if the archive is malformed; `cut_off` says in
/// the message what an archive without its end is.
std::vector<ZipMember> zip_directory(const InputFile& file, std::uint64_t begin, std::uint64_t size,
                                     std::string_view cut_off = "truncated");
inline std::vector<ZipMember> zip_directory(const InputFile& file) {
  return zip_directory(file, 0, file.size());
}

/// Reads the contents of a member once, from beginning to end.
class ZipReader {
 public:
  /// `label` names the member in messages. File and member must outlive the reader.
  ZipReader(std::string label, const InputFile& file, const ZipMember& member);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  /// Fills `out`. Throws Error if the contents have fewer bytes left or do not inflate; a wrong
  /// checksum is noticed in finish().
  void read(std::span<std::byte> out);
  /// Throws Error unless the contents end here and have the right checksum.
  void finish();

 private:
  std::size_t give_some(std::span<std::byte> out);
  std::size_t inflate_some(std::span<std::byte> out);
  [[noreturn]] void fail(const std::string& what) const;

  std::string label_;
  const InputFile& file_;
  const ZipMember& member_;
  std::uint64_t at_ = 0;           // offset in the file of the packed data not read yet
  std::uint64_t left_ = 0;         // bytes of packed data not read yet
  std::vector<std::byte> buffer_;  // packed data that were read; zlib may not have used all
  std::uint64_t given_ = 0;
  std::uint32_t crc_ = 0;
  bool ended_ = false;
  z_stream stream_ = {};
};

}  // namespace binade
