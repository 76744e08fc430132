// SPDX-License-Identifier: Apache-2.0
//
// The .safetensors file, read at least as strictly as by its reference implementation.
//
//   header length: u64 | JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...} |
//   data
//
// The offsets count from the end of the header and cover the data without gap or overlap.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "lib/io/tensor_file.h"

namespace binade {

/// Returns whether the bytes begin as the format demands: a header length of at most 10^8, then a
/// brace. Whether the header fits in the file is not looked at.
bool starts_as_safetensors(std::span<const std::byte> bytes);

/// metadata() of such a file is the map of texts under "__metadata__", empty if there is none.
class SafetensorsFile : public TensorFile {
 public:
  using TensorFile::TensorFile;
};

/// Opens a file, whose tensors are listed in the order of their data. Throws Error if it is
/// malformed. Reading a tensor of a packed type throws Error, too.
std::unique_ptr<SafetensorsFile> open_safetensors(std::shared_ptr<const InputFile> file);

inline std::unique_ptr<SafetensorsFile> open_safetensors(const std::string& path) {
  return open_safetensors(std::make_shared<const InputFile>(path));
}

}  // namespace binade
