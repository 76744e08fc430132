// SPDX-License-Identifier: Apache-2.0
//
// Arrays in the caller's memory that take the place of files: while a NamedArrays lives, whatever
// reads tensors from a file of one of its names reads the arrays instead, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/array_view.h"
#include "lib/io/tensor_file.h"

namespace binade {

/// A file made of arrays. If it holds a single array without a name, it is treated like a .npy
/// file.
struct FileOfArrays {
  std::string name;
  std::vector<NamedArray> arrays;
};

/// While it lives, the thread that made it finds these files before it looks in the file system.
/// NamedArrays may be nested; the innermost is searched first.
class NamedArrays {
 public:
  explicit NamedArrays(std::vector<FileOfArrays> files);
  ~NamedArrays();
  NamedArrays(const NamedArrays&) = delete;
  NamedArrays& operator=(const NamedArrays&) = delete;

  /// Returns the file of this name, or null. What is made from the file must not outlive the
  /// NamedArrays.
  static const FileOfArrays* find(std::string_view name);

 private:
  std::vector<FileOfArrays> files_;
  const NamedArrays* around_;
};

/// Opens the arrays as tensors. options.dtype says what unsigned integers of its width really hold.
std::unique_ptr<TensorFile> open_arrays(const FileOfArrays& file, const OpenOptions& options);

}  // namespace binade
