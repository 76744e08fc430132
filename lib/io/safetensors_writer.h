// SPDX-License-Identifier: Apache-2.0
//
// Writes a .safetensors file whose tensors are known beforehand and whose data are streamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/format/dtype.h"
#include "lib/io/atomic_file.h"

namespace binade {

struct TensorSpec {
  std::string name;
  Dtype dtype;
  std::vector<std::uint64_t> shape;
};

class SafetensorsWriter {
 public:
  /// The data lie in the order of the list: with the widest types first, all are aligned.
  SafetensorsWriter(const std::string& path, std::span<const TensorSpec> tensors,
                    const std::map<std::string, std::string>& metadata = {});

  /// Little-endian elements, tensor after tensor, in pieces of any size.
  void write(std::span<const std::byte> data);
  /// Error unless exactly all data were written; only then the file appears.
  void finish();

 private:
  std::string path_;
  AtomicFile file_;
  std::uint64_t left_ = 0;
};

}  // namespace binade
