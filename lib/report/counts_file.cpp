// SPDX-License-Identifier: Apache-2.0
//
// Buffers pieces of the file and computes the checksum on the way.
#include "lib/report/counts_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t written_at_once = std::size_t{1} << 20;
constexpr std::size_t read_at_once = std::size_t{1} << 16;  ///< for each of many open files
constexpr std::uint64_t checksum_bytes = 8;

std::string bytes_of_number(std::uint64_t x) {
  CountsBytes to;
  to.number(x);
  return to.bytes();
}

}  // namespace

CountsWriter::CountsWriter(const CountsKind& kind, const std::string& path) : file_(path) {
  add(kind.magic);
}

void CountsWriter::add(std::string_view bytes) {
  hash_.add(bytes);
  buffer_ += bytes;
  if (buffer_.size() >= written_at_once) flush();
}

void CountsWriter::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

void CountsWriter::number(std::uint64_t x) { add(bytes_of_number(x)); }

void CountsWriter::text(std::string_view x) {
  number(x.size());
  add(x);
}

void CountsWriter::commit() {
  number(hash_.value());
  flush();
  file_.commit();
}

CountsReader::CountsReader(const CountsKind& kind, std::shared_ptr<const InputFile> file)
    : kind_(kind), file_(std::move(file)) {
  std::string magic(std::min<std::uint64_t>(kind.magic.size(), size()), '\0');
  file_->read(0, std::as_writable_bytes(std::span(magic)));
  if (magic != kind.magic) {
    throw file_error(path(),
                     magic.starts_with(kind.any_version)
                         ? "a " + std::string(kind.noun) + " that another version of binade made"
                         : "no " + std::string(kind.noun),
                     kind.where_from);
  }
  if (size() < magic.size() + checksum_bytes) refuse("damaged or cut off");
  take(magic.size(), magic);
}

/// Hands out the next bytes, which are read from the file if the buffer lacks them. The checksum at
/// the end is never handed out.
void CountsReader::take(std::size_t size, std::string& out) {
  const std::uint64_t end = file_->size() - checksum_bytes;
  if (size > end - at_) refuse("damaged or cut off");
  out.clear();
  while (out.size() < size) {
    const std::size_t held = read_ - at_;
    if (held == 0) {
      buffer_.resize(std::min<std::uint64_t>(read_at_once, end - read_));
      file_->read(read_, std::as_writable_bytes(std::span(buffer_)));
      hash_.add(buffer_);
      read_ += buffer_.size();
      continue;
    }
    const std::size_t piece = std::min(held, size - out.size());
    out.append(buffer_, buffer_.size() - held, piece);
    at_ += piece;
  }
}

std::uint64_t CountsReader::number() {
  std::string bytes;
  take(8, bytes);
  return reader_of(bytes).number();
}

std::string CountsReader::text() {
  std::string out;
  take(number(), out);
  return out;
}

std::uint64_t CountsReader::count(std::uint64_t size) {
  const std::uint64_t n = number();
  if (n > (file_->size() - checksum_bytes - at_) / size) {
    refuse("damaged: it announces more than it holds");
  }
  return n;
}

void CountsReader::finish() {
  std::array<char, checksum_bytes> checksum{};
  file_->read(size() - checksum_bytes, std::as_writable_bytes(std::span(checksum)));
  if (at_ != size() - checksum_bytes) {
    refuse("damaged: it holds more than a " + std::string(kind_.noun));
  }
  if (reader_of({checksum.data(), checksum.size()}).number() != hash_.value()) {
    refuse("damaged, by its checksum");
  }
}

}  // namespace binade
