// SPDX-License-Identifier: Apache-2.0
//
// Reads a whole .gz file (RFC 1952) into memory, for data sets that are distributed so, and
// deflates bytes for HTML pages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace binade {

/// Returns the contents of all members, one after another. Throws Error if the file cannot be read,
/// is empty or no .gz, if the members are damaged or cut off, if their contents are more than
/// `most` bytes, or if this build has no zlib.
std::string read_gzip(const std::string& path, std::size_t most);

/// Returns the bytes as a zlib stream (RFC 1950), which a browser's DecompressionStream("deflate")
/// reads. A build without zlib stores them uncompressed.
std::string zlib_stream(std::string_view bytes);

}  // namespace binade
