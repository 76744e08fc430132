// SPDX-License-Identifier: Apache-2.0
//
// Inflates one member of a zip archive into the caller's buffer with zlib, and checks it on the
// way.
#include "lib/io/zip.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t most_packed = std::size_t{1} << 20;  // bytes in memory at a time

}  // namespace

ZipReader::ZipReader(std::string label, const InputFile& file, const ZipMember& member)
    : label_(std::move(label)),
      file_(file),
      member_(member),
      at_(member.packed_at),
      left_(member.packed_size) {
  constexpr int no_zlib_header = -15;  // a raw stream, with a window of 2^15 bytes
  if (member.deflated && inflateInit2(&stream_, no_zlib_header) != Z_OK) {
    throw error_in(label_, "no memory to inflate", "free some memory");
  }
}

ZipReader::~ZipReader() {
  if (member_.deflated) inflateEnd(&stream_);
}

void ZipReader::fail(const std::string& what) const {
  throw error_at(label_, what, given_, "the archive is damaged: save it again");
}

void ZipReader::read(std::span<std::byte> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::size_t got = give_some(out.subspan(filled));
    if (got == 0) fail("the member's data end");
    filled += got;
  }
}

void ZipReader::finish() {
  std::byte surplus = {};
  if (give_some({&surplus, 1}) != 0) fail("the member's data go on");
  if (left_ != 0 || stream_.avail_in != 0) fail("bytes after the member's data");
  if (given_ != member_.size) fail("the member's data end");
  if (crc_ != member_.crc) fail("the checksum (CRC-32) differs");
}

/// Returns how many bytes of the contents it has given; 0 only at their end.
std::size_t ZipReader::give_some(std::span<std::byte> out) {
  std::size_t got = 0;
  if (member_.deflated) {
    got = inflate_some(out.first(std::min(out.size(), most_packed)));
  } else {
    got = std::min<std::uint64_t>(out.size(), left_);
    file_.read(at_, out.first(got));
    at_ += got;
    left_ -= got;
  }
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(out.data()), got));
  given_ += got;
  return got;
}

std::size_t ZipReader::inflate_some(std::span<std::byte> out) {
  std::size_t got = 0;
  while (got == 0 && !ended_) {
    if (stream_.avail_in == 0) {
      buffer_.resize(std::min<std::uint64_t>(left_, most_packed));
      file_.read(at_, buffer_);
      at_ += buffer_.size();
      left_ -= buffer_.size();
      stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_in = static_cast<uInt>(buffer_.size());
    }
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_BUF_ERROR) fail("the member's data are cut off");
    if (status != Z_OK && status != Z_STREAM_END) fail("the member's data do not inflate");
    got = out.size() - stream_.avail_out;
    ended_ = status == Z_STREAM_END;
  }
  return got;
}

}  // namespace binade
