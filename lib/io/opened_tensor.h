// SPDX-License-Identifier: Apache-2.0
//
// One tensor as a command line names it: FILE, or FILE:NAME if the file holds several.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "lib/io/tensor_file.h"

namespace binade {

struct OpenedTensor {
  std::unique_ptr<TensorFile> file;
  std::size_t index = 0;

  const TensorInfo& info() const { return file->tensors()[index]; }
};

/// Opens FILE or FILE:NAME, where FILE ends before the first colon that follows the name of an
/// existing file. Throws Error if the file holds no tensor of that name, or if no name is given and
/// it does not hold exactly one.
OpenedTensor open_tensor(const std::string& where, const OpenOptions& options = {});

/// Returns the file of FILE or FILE:NAME. A text that is itself the name of an existing file, or
/// that begins with the name of none, is returned whole.
std::string file_of(const std::string& where);

}  // namespace binade
