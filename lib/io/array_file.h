// SPDX-License-Identifier: Apache-2.0
//
// Arrays of the caller's memory in the place of files: what reads tensors from a file of some name reads them from
// there, without a copy, while a NamedArrays of that name lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/tensor_file.h"

namespace binade {

/// Elements in C order, little-endian; whoever made it keeps them alive.
struct ArrayView {
  Dtype dtype = {};
  std::vector<std::uint64_t> shape = {};
  const std::byte* data = nullptr;

  /// Error where the elements exceed 2^63 - 1 bytes.
  Extent size() const;
};

struct NamedArray {
  std::string name;
  ArrayView array;
};

/// A file of arrays; one of a single array that has no name is what a .npy would be.
struct FileOfArrays {
  std::string name;
  std::vector<NamedArray> arrays;
};

/// While it lives, the thread that made it opens these before it looks for files. They may lie in each other.
class NamedArrays {
 public:
  explicit NamedArrays(std::vector<FileOfArrays> files);
  ~NamedArrays();
  NamedArrays(const NamedArrays&) = delete;
  NamedArrays& operator=(const NamedArrays&) = delete;

  /// That of the name, if there is one; what is made of it must not outlive the NamedArrays.
  static const FileOfArrays* find(std::string_view name);

 private:
  std::vector<FileOfArrays> files_;
  const NamedArrays* around_;
};

/// `dtype`: what unsigned integers of its width really hold.
std::unique_ptr<TensorFile> open_arrays(const FileOfArrays& file, const OpenOptions& options);

}  // namespace binade
