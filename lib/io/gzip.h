// SPDX-License-Identifier: Apache-2.0
//
// A whole .gz file (RFC 1952) in memory, for data sets that come so.
#pragma once

#include <cstddef>
#include <string>

namespace binade {

/// The contents, of all members one after another. Error if they are damaged or cut off, are more
/// than `most` bytes, or if this build has no zlib.
std::string read_gzip(const std::string& path, std::size_t most);

}  // namespace binade
