// SPDX-License-Identifier: Apache-2.0
//
// Pieces of a file behind a buffer, and a checksum that goes along.
#include "lib/report/part_file.h"

#include <algorithm>
#include <array>
#include <span>

#include "lib/report/part_bytes.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view part_magic = "binade.part/1\n\0\0"sv;
constexpr std::string_view any_part_version = "binade.part/"sv;
constexpr std::size_t written_at_once = std::size_t{1} << 20;
constexpr std::size_t read_at_once = std::size_t{1} << 16;  ///< of each of very many parts
constexpr std::uint64_t checksum_bytes = 8;

std::string bytes_of_number(std::uint64_t x) {
  PartBytes to;
  to.number(x);
  return to.bytes();
}

}  // namespace

void PartHash::add(std::string_view bytes) {
  for (const char c : bytes) {
    value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
}

PartWriter::PartWriter(const std::string& path) : file_(path) { add(part_magic); }

void PartWriter::add(std::string_view bytes) {
  hash_.add(bytes);
  buffer_ += bytes;
  if (buffer_.size() >= written_at_once) flush();
}

void PartWriter::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

void PartWriter::number(std::uint64_t x) { add(bytes_of_number(x)); }

void PartWriter::text(std::string_view x) {
  number(x.size());
  add(x);
}

void PartWriter::commit() {
  number(hash_.value());
  flush();
  file_.commit();
}

PartReader::PartReader(const std::string& path) : file_(path) {
  std::string magic(std::min<std::uint64_t>(part_magic.size(), file_.size()), '\0');
  file_.read(0, std::as_writable_bytes(std::span(magic)));
  if (magic != part_magic || file_.size() < part_magic.size() + checksum_bytes) {
    const bool part = magic.starts_with(any_part_version);
    throw file_error(path,
                     magic == part_magic ? "damaged or cut off"
                     : part              ? "a part of a report that another version of binade made"
                                         : "no part of a report",
                     "name files that this binade's report --part wrote");
  }
  take(part_magic.size(), magic);
}

/// Takes from the file what the buffer lacks, but never the checksum.
void PartReader::take(std::size_t size, std::string& out) {
  const std::uint64_t end = file_.size() - checksum_bytes;
  if (size > end - at_) refuse_part(path(), "damaged or cut off");
  out.clear();
  while (out.size() < size) {
    const std::size_t held = read_ - at_;
    if (held == 0) {
      buffer_.resize(std::min<std::uint64_t>(read_at_once, end - read_));
      file_.read(read_, std::as_writable_bytes(std::span(buffer_)));
      hash_.add(buffer_);
      read_ += buffer_.size();
      continue;
    }
    const std::size_t piece = std::min(held, size - out.size());
    out.append(buffer_, buffer_.size() - held, piece);
    at_ += piece;
  }
}

std::uint64_t PartReader::number() {
  std::string bytes;
  take(8, bytes);
  return PartBytesReader(bytes, path()).number();
}

std::string PartReader::text() {
  std::string out;
  take(number(), out);
  return out;
}

std::uint64_t PartReader::count(std::uint64_t size) {
  const std::uint64_t n = number();
  if (n > (file_.size() - checksum_bytes - at_) / size) {
    refuse_part(path(), "damaged: it announces more than it holds");
  }
  return n;
}

void PartReader::finish() {
  std::array<char, checksum_bytes> checksum{};
  file_.read(file_.size() - checksum_bytes, std::as_writable_bytes(std::span(checksum)));
  const std::string_view bytes(checksum.data(), checksum.size());
  if (at_ != file_.size() - checksum_bytes)
    refuse_part(path(), "damaged: it holds more than a part");
  if (PartBytesReader(bytes, path()).number() != hash_.value()) {
    refuse_part(path(), "damaged, by its checksum");
  }
}

std::string update_bytes(const UpdateCounts& counts) {
  PartBytes to;
  for (const std::uint64_t n : {counts.values, counts.updates, counts.below_2_11}) to.number(n);
  add_sum(to, counts.squares);
  for (const LostUpdates& kept : counts.kept_in) {
    to.number(kept.lost);
    to.number(kept.overflow);
    add_sum(to, kept.lost_squares);
  }
  return to.bytes();
}

UpdateCounts update_from(std::string_view bytes, const std::string& path, std::uint64_t values) {
  PartBytesReader from(bytes, path);
  UpdateCounts out;
  for (std::uint64_t* const n : {&out.values, &out.updates, &out.below_2_11}) *n = from.number();
  out.squares = sum_from(from);
  bool fits = out.values == values && out.updates <= values && out.below_2_11 <= out.updates &&
              out.squares.is_zero() == (out.updates == 0) && out.squares.limbs.back() == 0;
  for (LostUpdates& kept : out.kept_in) {
    kept.lost = from.number();
    kept.overflow = from.number();
    kept.lost_squares = sum_from(from);
    fits = fits && kept.lost <= out.updates && kept.overflow <= out.updates - kept.lost &&
           compare(kept.lost_squares, out.squares) <= 0;
  }
  if (!fits || !from.at_end())
    refuse_part(path, "damaged: it has counts of updates that none have");
  return out;
}

}  // namespace binade
