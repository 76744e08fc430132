// SPDX-License-Identifier: Apache-2.0
//
// The central directory of a zip archive. Field positions are those of PKWARE's APPNOTE 6.3.10,
// sections 4.3.7 (local header), 4.3.12 (central entry), 4.3.14 to 4.3.16 (ends), 4.5.3 (zip64).
#include <algorithm>
#include <cstring>
#include <limits>

#include "lib/io/zip.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t entry_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator_signature = 0x07064b50;
constexpr std::size_t local_size = 30;
constexpr std::size_t entry_size = 46;
constexpr std::size_t end_size = 22;
constexpr std::size_t end64_size = 56;
constexpr std::size_t locator_size = 20;
constexpr std::uint64_t most_members = 1'000'000;
constexpr std::uint64_t best_ratio = 1032;  // of deflate: 258 bytes from 2 bits
constexpr std::uint64_t in_zip64 = 0xFFFFFFFF;

/// The place of an archive in a file. Offsets in the archive count from `begin`.
struct ArchivePlace {
  const InputFile& file;
  std::uint64_t begin, size;
  std::string_view cut_off;  ///< what messages call an archive without its end
};

/// Gives access to any part of an archive; the part last used, and some of what follows it, are
/// kept in memory.
class Window {
 public:
  Window(const ArchivePlace& archive, std::uint64_t least) : archive_(archive), least_(least) {}

  /// Returns a part, which must lie inside the archive. It is valid until the next call.
  std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) {
    if (at < start_ || at + size > start_ + bytes_.size()) {
      bytes_.resize(std::min(std::max(size, least_), archive_.size - at));
      start_ = at;
      archive_.file.read(archive_.begin + at, bytes_);
    }
    return std::span(bytes_).subspan(at - start_, size);
  }

 private:
  const ArchivePlace& archive_;
  std::uint64_t least_;
  std::uint64_t start_ = 0;
  std::vector<std::byte> bytes_;
};

class Directory {
 public:
  explicit Directory(const ArchivePlace& archive) : archive_(archive) {}

  std::vector<ZipMember> members() {
    find_end();
    std::vector<ZipMember> list;
    std::uint64_t at = start_;
    for (std::uint64_t i = 0; i < count_; ++i) at = add_entry(at, list);
    if (at != end_) fail("a directory that is longer than its entries", at);
    check_layout(list);
    for (ZipMember& member : list) {
      member.header += archive_.begin;
      member.packed_at += archive_.begin;
    }
    return list;
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::uint64_t offset) const {
    throw error_at(archive_.file.path(), what, archive_.begin + offset,
                   "the archive is damaged: save it again");
  }

  /// Returns a little-endian field. Its offset is checked, however it was computed.
  template <class Unsigned>
  Unsigned field(Window& window, std::uint64_t at) const {
    Unsigned value = 0;
    std::memcpy(&value, part(window, at, sizeof value).data(), sizeof value);
    return value;
  }
  std::uint16_t u16(std::uint64_t at) { return field<std::uint16_t>(directory_, at); }
  std::uint32_t u32(std::uint64_t at) { return field<std::uint32_t>(directory_, at); }
  std::uint64_t u64(std::uint64_t at) { return field<std::uint64_t>(directory_, at); }

  std::span<const std::byte> part(Window& window, std::uint64_t at, std::uint64_t size) const {
    if (at > archive_.size || size > archive_.size - at) fail("a zip record is cut off", at);
    return window.part(at, size);
  }

  static std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// Returns the offset of the end record, which is the last thing in the archive but for a comment
  /// of exactly the stated length.
  std::uint64_t find_end_record() {
    const std::uint64_t size = archive_.size;
    const std::uint64_t longest =
        std::min<std::uint64_t>(size, end_size + std::numeric_limits<std::uint16_t>::max());
    part(directory_, size - longest, longest);
    for (std::uint64_t back = end_size; back <= longest; ++back) {
      const std::uint64_t at = size - back;
      if (u32(at) == end_signature && u16(at + 20) == back - end_size) return at;
    }
    throw error_at(archive_.file.path(),
                   std::string(archive_.cut_off) + ": no end of the zip directory",
                   archive_.begin + size, "export the file again");
  }

  void find_end() {
    const std::uint64_t record = find_end_record();
    end_ = record;
    count_ = u16(record + 10);
    std::uint64_t size = u32(record + 12);
    start_ = u32(record + 16);
    bool one_disk = u16(record + 4) == 0 && u16(record + 6) == 0 && u16(record + 8) == count_;
    if (record >= locator_size && u32(record - locator_size) == locator_signature) {
      end_ = u64(record - locator_size + 8);
      if (u32(end_) != end64_signature || end_ > record - locator_size - end64_size) {
        fail("no zip64 end of directory", end_);
      }
      one_disk = u32(end_ + 16) == 0 && u32(end_ + 20) == 0;
      count_ = u64(end_ + 32);
      size = u64(end_ + 40);
      start_ = u64(end_ + 48);
      if (u64(end_ + 24) != count_) one_disk = false;
    }
    if (!one_disk) fail("an archive in several parts", record);
    if (count_ > most_members || count_ > size / entry_size) {
      fail("an absurd count of " + std::to_string(count_) + " members", record);
    }
    if (start_ > end_ || size != end_ - start_) fail("a directory of the wrong size", record);
  }

  std::uint64_t add_entry(std::uint64_t at, std::vector<ZipMember>& list) {
    if (u32(at) != entry_signature) fail("not an entry of the directory", at);
    ZipMember member;
    member.name = text_of(part(directory_, at + entry_size, u16(at + 28)));
    const std::string quoted = "member '" + printable(member.name) + "'";
    const unsigned flags = u16(at + 8);
    const unsigned method = u16(at + 10);
    constexpr unsigned known_flags = 0x080E;  // deflate's effort, sizes after the data, UTF-8
    if ((flags & 1) != 0) fail(quoted + " is encrypted", at);
    if ((flags & ~known_flags) != 0) fail(quoted + " has unknown flags", at);
    if (method != 0 && method != 8) {
      throw error_in(archive_.file.path(),
                     quoted + " is packed by method " + std::to_string(method) +
                         ", neither stored nor deflated",
                     "pack it with numpy.savez or numpy.savez_compressed");
    }
    member.deflated = method == 8;
    member.crc = u32(at + 16);
    member.packed_size = u32(at + 20);
    member.size = u32(at + 24);
    member.header = u32(at + 42);
    const std::uint64_t extra = at + entry_size + member.name.size();
    read_zip64(extra, extra + u16(at + 30), {&member.size, &member.packed_size, &member.header});
    if (member.deflated ? member.size / best_ratio > member.packed_size
                        : member.size != member.packed_size) {
      fail(quoted + " announces an impossible size", at);
    }
    check_local_header(member, method);
    list.push_back(std::move(member));
    return extra + u16(at + 30) + u16(at + 32);
  }

  /// Compares name and method in the local header with the entry, and finds where the data begin.
  void check_local_header(ZipMember& member, unsigned method) {
    const std::uint64_t at = member.header;
    const auto local16 = [&](std::uint64_t place) { return field<std::uint16_t>(locals_, place); };
    if (field<std::uint32_t>(locals_, at) != local_signature || local16(at + 8) != method ||
        text_of(part(locals_, at + local_size, local16(at + 26))) != member.name) {
      fail("member '" + printable(member.name) + "' is not what the directory says", at);
    }
    member.packed_at = at + local_size + member.name.size() + local16(at + 28);
    part(locals_, member.packed_at, 0);
    if (member.packed_size > archive_.size - member.packed_at) {
      fail("a zip record is cut off", member.packed_at);
    }
  }

  /// Reads zip64 sizes: the fields that are all ones in the entry are stored, in this order, in the
  /// extra field 0x0001.
  void read_zip64(std::uint64_t at, std::uint64_t end,
                  std::initializer_list<std::uint64_t*> fields) {
    for (std::uint64_t next = 0; end - at >= 4; at = next) {
      next = at + 4 + u16(at + 2);
      if (next > end) fail("an extra field is cut off", at);
      if (u16(at) != 1) continue;
      at += 4;
      for (std::uint64_t* value : fields) {
        if (*value != in_zip64) continue;
        if (next - at < 8) fail("a zip64 field is cut off", at);
        *value = u64(at);
        at += 8;
      }
      return;
    }
  }

  void check_layout(std::vector<ZipMember>& list) const {
    std::ranges::sort(list, {}, &ZipMember::header);
    std::uint64_t free = 0;
    for (const ZipMember& member : list) {
      if (member.header < free) {
        fail("member '" + printable(member.name) + "' overlaps the one before it", member.header);
      }
      free = member.packed_at + member.packed_size;
    }
    if (free > start_) fail("the last member overlaps the directory", start_);
  }

  const ArchivePlace archive_;
  Window directory_{archive_, std::uint64_t{64} << 10};
  Window locals_{archive_, 256};
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

std::vector<ZipMember> zip_directory(const InputFile& file, std::uint64_t begin, std::uint64_t size,
                                     std::string_view cut_off) {
  return Directory({file, begin, size, cut_off}).members();
}

}  // namespace binade
