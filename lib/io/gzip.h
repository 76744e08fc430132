// SPDX-License-Identifier: Apache-2.0
//
// A whole .gz file (RFC 1952) in memory, for data sets that come so; and bytes deflated for a page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace binade {

/// The contents, of all members one after another. Error if they are damaged or cut off, are more
/// than `most` bytes, or if this build has no zlib.
std::string read_gzip(const std::string& path, std::size_t most);

/// The bytes as a zlib stream (RFC 1950), as a browser's DecompressionStream("deflate") reads it. A build without
/// zlib stores them.
std::string zlib_stream(std::string_view bytes);

}  // namespace binade
