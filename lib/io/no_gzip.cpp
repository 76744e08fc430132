// SPDX-License-Identifier: Apache-2.0
//
// The functions of gzip.h in a build without zlib: .gz files are refused, and a zlib stream stores
// its bytes uncompressed.
#include "lib/io/gzip.h"

#include <cstdint>

#include "lib/text/error.h"

namespace binade {

std::string read_gzip(const std::string& path, std::size_t) {
  throw error_in(path, "a .gz file, which this build cannot read",
                 "configure with -Dnpz=enabled and zlib");
}

std::string zlib_stream(std::string_view bytes) {
  std::string out = "\x78\x01";
  std::uint32_t a = 1, b = 0;          // Adler-32
  constexpr std::size_t most = 65535;  // the most bytes of a stored block
  for (std::size_t at = 0; at == 0 || at < bytes.size(); at += most) {
    const std::string_view block = bytes.substr(at, most);
    const bool last = at + most >= bytes.size();
    const auto size = static_cast<std::uint32_t>(block.size());
    for (const std::uint32_t part :
         {std::uint32_t{last}, size & 255U, size >> 8U, ~size & 255U, (~size >> 8U) & 255U}) {
      out += static_cast<char>(part);
    }
    out += block;
    for (const char c : block) {
      a = (a + static_cast<unsigned char>(c)) % 65521;
      b = (b + a) % 65521;
    }
  }
  for (const std::uint32_t part : {b >> 8U, b, a >> 8U, a}) out += static_cast<char>(part & 255U);
  return out;
}

}  // namespace binade
