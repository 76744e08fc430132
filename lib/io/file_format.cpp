// SPDX-License-Identifier: Apache-2.0
//
// The table of formats, and the words that lists of them have in messages and helps.
#include "lib/io/file_format.h"

#include <algorithm>
#include <array>

#include "lib/text/spelling.h"

namespace binade {

#define BINADE_DECLARED(name) extern const FileFormat name##_format;
BINADE_FILE_FORMATS(BINADE_DECLARED)
#undef BINADE_DECLARED

std::span<const FileFormat* const> file_formats() {
  static constexpr std::array all{
#define BINADE_ROW(name) &name##_format,
      BINADE_FILE_FORMATS(BINADE_ROW)
#undef BINADE_ROW
  };
  return all;
}

std::vector<std::byte> beginning_of(const InputFile& file) {
  constexpr std::uint64_t most = 4096;
  std::vector<std::byte> bytes(std::min(file.size(), most));
  file.read(0, bytes);
  return bytes;
}

std::string files_of_tensors() {
  std::vector<std::string_view> all;
  for (const FileFormat* format : file_formats()) all.push_back(format->files);
  return listed(all);
}

std::string single_file_formats(std::string_view first) {
  std::vector<std::string_view> all;
  for (const FileFormat* format : file_formats()) {
    if (!format->single.empty()) all.push_back(format->single);
  }
  // clang 14 does not take libstdc++'s std::ranges::stable_partition.
  std::stable_partition(all.begin(), all.end(), [&](std::string_view one) { return one == first; });
  return alternatives(all);
}

}  // namespace binade
