// SPDX-License-Identifier: Apache-2.0
//
// The .gz file is inflated by zlib, which also checks the length and the CRC-32 of each member.
#include "lib/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "lib/io/input_file.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;  // bytes in one call of zlib

class Deflater {
 public:
  Deflater() {
    constexpr int level = 7;  // faster than 9, with hardly more output
    if (deflateInit(&stream_, level) != Z_OK) {
      throw Error("no memory to deflate: free some");
    }
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
};

class Inflater {
 public:
  explicit Inflater(const std::string& path) {
    constexpr int gzip_only = 16 + 15;  // a gzip header, and a window of 2^15 bytes
    if (inflateInit2(&stream_, gzip_only) != Z_OK) {
      throw error_in(path, "no memory to inflate", "free some memory");
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
};

}  // namespace

std::string read_gzip(const std::string& path, std::size_t most) {
  const InputFile file(path);
  const auto held = file.hold();
  Inflater inflater(path);
  z_stream& stream = inflater.stream();
  std::uint64_t at = 0;  // the first byte that was not read yet
  const auto fail = [&](const std::string& what) {
    file.check_unchanged();
    throw error_at(path, what, at - stream.avail_in, "the file is damaged: fetch it again");
  };
  if (file.size() == 0) fail("an empty file, no .gz,");
  std::string contents;
  std::vector<std::byte> packed;
  std::vector<char> inflated(piece);  // made once, since members may be many and empty
  while (true) {
    if (stream.avail_in == 0) {
      packed.resize(std::min<std::uint64_t>(file.size() - at, piece));
      file.read(at, packed);
      at += packed.size();
      stream.next_in = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_in = static_cast<uInt>(packed.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(inflated.data());
    stream.avail_out = static_cast<uInt>(inflated.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    const bool rest = stream.avail_in != 0 || at < file.size();
    const std::size_t got = inflated.size() - stream.avail_out;
    if (got > most - contents.size()) {
      throw error_in(path, "more than " + std::to_string(most) + " bytes when inflated",
                     "give the file that is asked for");
    }
    contents.append(inflated.data(), got);
    if (status == Z_STREAM_END) {
      if (!rest) break;
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR || (status == Z_OK && !rest && stream.avail_out != 0)) {
      fail("the .gz data are cut off");
    } else if (status != Z_OK) {
      fail("the .gz data do not inflate");
    }
  }
  file.check_unchanged();
  return contents;
}

std::string zlib_stream(std::string_view bytes) {
  Deflater deflater;
  z_stream& stream = deflater.stream();
  std::string out;
  std::vector<char> deflated(piece);
  for (std::size_t at = 0; at == 0 || at < bytes.size(); at += piece) {
    poll();
    const std::string_view some = bytes.substr(at, piece);
    const bool is_last = at + some.size() == bytes.size();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(some.data()));
    stream.avail_in = static_cast<uInt>(some.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(deflated.data());
      stream.avail_out = static_cast<uInt>(deflated.size());
      deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
      out.append(deflated.data(), deflated.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  return out;
}

}  // namespace binade
