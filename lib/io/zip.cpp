// SPDX-License-Identifier: Apache-2.0
//
// One member of a zip archive, inflated by zlib into the caller's buffer and checked as it goes.
#include "lib/io/zip.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/tensor/error.h"

namespace binade {
namespace {

constexpr std::size_t most_packed = std::size_t{4} << 20;  // in one call of zlib, then released

}  // namespace

ZipReader::ZipReader(std::string label, const MappedFile& file, const ZipMember& member)
    : label_(std::move(label)), file_(file), member_(member), rest_(member.packed) {
  constexpr int no_zlib_header = -15;  // a window of 2^15 bytes
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
    const std::size_t got = inflate_some(out.subspan(filled));
    if (got == 0) fail("the member's data end");
    filled += got;
  }
}

void ZipReader::finish() {
  std::byte surplus = {};
  if (inflate_some({&surplus, 1}) != 0) fail("the member's data go on");
  if (!rest_.empty()) fail("bytes after the member's data");
  if (given_ != member_.size) fail("the member's data end");
  if (crc_ != member_.crc) fail("the checksum (CRC-32) differs");
}

/// Some bytes of the contents, none only at their end.
std::size_t ZipReader::inflate_some(std::span<std::byte> out) {
  out = out.first(std::min(out.size(), most_packed));
  std::size_t got = 0;
  if (!member_.deflated) {
    got = std::min(out.size(), rest_.size());
    std::ranges::copy(rest_.first(got), out.begin());
    file_.release(rest_.first(got));
    rest_ = rest_.subspan(got);
  }
  while (member_.deflated && got == 0 && !ended_) {
    const auto input = rest_.first(std::min(rest_.size(), most_packed));
    // zlib reads through a pointer to non-const for historical reasons only.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_BUF_ERROR) fail("the member's data are cut off");
    if (status != Z_OK && status != Z_STREAM_END) fail("the member's data do not inflate");
    const std::size_t used = input.size() - stream_.avail_in;
    file_.release(rest_.first(used));
    rest_ = rest_.subspan(used);
    got = out.size() - stream_.avail_out;
    ended_ = status == Z_STREAM_END;
  }
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(out.data()), got));
  given_ += got;
  return got;
}

}  // namespace binade
