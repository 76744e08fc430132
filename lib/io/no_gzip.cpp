// SPDX-License-Identifier: Apache-2.0
//
// `read_gzip` of a build without zlib.
#include "lib/io/gzip.h"
#include "lib/tensor/error.h"

namespace binade {

std::string read_gzip(const std::string& path, std::size_t) {
  throw error_in(path, "a .gz file, which this build cannot read",
                 "configure with -Dnpz=enabled and zlib");
}

}  // namespace binade
