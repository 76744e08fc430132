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

/// Returns whether the bytes begin as the format demands: a header length that fits, then a brace.
bool starts_as_safetensors(std::span<const std::byte> bytes);

/// metadata() of such a file is the map of texts under "__metadata__".
class SafetensorsFile : public TensorFile {
 public:
  using TensorFile::TensorFile;
};

std::unique_ptr<SafetensorsFile> open_safetensors(std::shared_ptr<const InputFile> file);

inline std::unique_ptr<SafetensorsFile> open_safetensors(const std::string& path) {
  return open_safetensors(std::make_shared<const InputFile>(path));
}

}  // namespace binade
