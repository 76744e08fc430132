// SPDX-License-Identifier: Apache-2.0
//
// The part of the zip format that .npz and torch.save need: stored and deflated members, zip64, CRC-32. Strict:
// the central directory is the truth, every local header must agree with it, members may not
// overlap, and a member gives exactly the bytes its entry announces or an Error.
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
  std::uint64_t size = 0;         ///< of the contents
  std::uint64_t header = 0;       ///< where its local header begins in the file
  std::uint64_t packed_at = 0;    ///< where its data begin
  std::uint64_t packed_size = 0;  ///< of its data as they lie in the file
};

/// Of the archive that fills the file, or `size` bytes of it from `begin`; members are in the order of their data.
/// `cut_off` says in the error what an archive without its end is.
std::vector<ZipMember> zip_directory(const InputFile& file, std::uint64_t begin, std::uint64_t size,
                                     std::string_view cut_off = "truncated");
inline std::vector<ZipMember> zip_directory(const InputFile& file) {
  return zip_directory(file, 0, file.size());
}

/// One pass over a member's contents.
class ZipReader {
 public:
  /// `label` names the member in errors.
  ZipReader(std::string label, const InputFile& file, const ZipMember& member);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  /// Fills `out` whole, or throws: the caller asks for what the header of the contents promised.
  void read(std::span<std::byte> out);
  /// Error unless the contents end here with the right checksum.
  void finish();

 private:
  std::size_t give_some(std::span<std::byte> out);
  std::size_t inflate_some(std::span<std::byte> out);
  [[noreturn]] void fail(const std::string& what) const;

  std::string label_;
  const InputFile& file_;
  const ZipMember& member_;
  std::uint64_t at_ = 0;           // of the packed data that were not read, in the file
  std::uint64_t left_ = 0;         // bytes of them
  std::vector<std::byte> buffer_;  // packed data that were read, of which zlib may have left some
  std::uint64_t given_ = 0;
  std::uint32_t crc_ = 0;
  bool ended_ = false;
  z_stream stream_ = {};
};

}  // namespace binade
