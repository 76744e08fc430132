// SPDX-License-Identifier: Apache-2.0
//
// Records of a zip archive: PKWARE's APPNOTE 6.3.10, sections 4.3.7 (local header), 4.3.12 (central
// entry) and 4.3.16 (end). All members have the same fixed time, so the same arrays give the same
// bytes.
#include "lib/io/npz_writer.h"

#include <zlib.h>

#include <limits>

#include "lib/io/npy_writer.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::uint64_t most_bytes = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint32_t first_day = 0x0021;  // 1980-01-01, the earliest that zip knows
constexpr std::uint32_t zip_version = 20;    // of APPNOTE 2.0: no zip64

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

/// Writes the fields from "version needed" to the length of the extra field, which are the same in
/// both kinds of header.
std::string member_fields(const std::string& name, std::uint32_t crc, std::uint64_t size) {
  std::string out;
  put(out, zip_version, 2);
  put(out, 0, 2);  // flags
  put(out, 0, 2);  // stored
  put(out, 0, 2);  // time
  put(out, first_day, 2);
  put(out, crc, 4);
  put(out, size, 4);
  put(out, size, 4);
  put(out, name.size(), 2);
  put(out, 0, 2);  // extra
  return out;
}

std::uint32_t checksum(std::string_view header, std::span<const std::byte> data) {
  const auto bytes = [](const void* x) { return static_cast<const Bytef*>(x); };
  const uLong first = crc32_z(0, bytes(header.data()), header.size());
  // For a null pointer, which an empty span has, zlib returns the initial checksum.
  return static_cast<std::uint32_t>(data.empty() ? first
                                                 : crc32_z(first, bytes(data.data()), data.size()));
}

}  // namespace

NpzWriter::NpzWriter(const std::string& path) : path_(path), file_(path) {}

void NpzWriter::add(const std::string& name, const Dtype& dtype,
                    std::span<const std::uint64_t> shape, std::span<const std::byte> data) {
  const std::string header = npy_header(path_, dtype, shape);
  if (extent(shape, dtype)->bytes != data.size()) {
    throw error_in(path_, "data that do not fill their shape", "report this as a bug of binade");
  }
  const std::string member = name + ".npy";
  const std::uint64_t size = header.size() + data.size();
  const std::string fields = member_fields(member, checksum(header, data), size);
  std::string local = "PK\x03\x04" + fields + member;
  std::string entry = "PK\x01\x02";
  put(entry, zip_version, 2);
  entry += fields;
  put(entry, 0, 2);  // comment
  put(entry, 0, 2);  // disk
  put(entry, 0, 2);  // internal attributes
  put(entry, 0, 4);  // external attributes
  put(entry, written_, 4);
  entry += member;
  written_ += local.size() + size;
  directory_ += entry;
  if (written_ + directory_.size() > most_bytes || member.size() > 1000 || members_ == 65534) {
    throw error_in(path_, "more than an archive of 4 GiB can hold",
                   "write fewer or smaller arrays");
  }
  members_ += 1;
  file_.write(local + header);
  file_.write(data);
}

void NpzWriter::finish() {
  std::string end = "PK\x05\x06";
  put(end, 0, 4);  // disks
  put(end, members_, 2);
  put(end, members_, 2);
  put(end, directory_.size(), 4);
  put(end, written_, 4);
  put(end, 0, 2);  // comment
  file_.write(directory_ + end);
  file_.commit();
}

}  // namespace binade
