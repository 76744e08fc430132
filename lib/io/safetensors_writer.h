// SPDX-License-Identifier: Apache-2.0
//
// Writes a .safetensors file. All tensors are named beforehand; their data are streamed.
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
  /// The data of the tensors are stored in the order of the list. If the widest types come first,
  /// all are aligned. Throws Error as AtomicFile does, and if two tensors have the same name, a
  /// name or metadata are not UTF-8, or a shape is impossible (extent() returns nothing).
  SafetensorsWriter(const std::string& path, std::span<const TensorSpec> tensors,
                    const std::map<std::string, std::string>& metadata = {});

  /// Writes little-endian elements, tensor after tensor, in pieces of any size. Throws Error if
  /// they are more than the tensors hold.
  void write(std::span<const std::byte> data);
  /// Makes the file appear. Throws Error unless exactly all data were written.
  void finish();

 private:
  std::string path_;
  AtomicFile file_;
  std::uint64_t left_ = 0;  ///< bytes still to be written
};

}  // namespace binade
