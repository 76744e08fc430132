// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a .gz file with given contents, made by zlib.
#pragma once

#include "tests/lib/io/files.h"

namespace binade::test {

inline std::string gzipped(std::string_view bytes) {
  constexpr int gzip_header = 16 + 15;  // asks zlib for a .gz file with a window of 2^15 bytes
  return deflated(bytes, Z_FINISH, gzip_header);
}

}  // namespace binade::test
