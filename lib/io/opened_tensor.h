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

/// Opens FILE or FILE:NAME. Throws Error if the file holds no tensor of that name, or if it holds
/// several and none is named.
OpenedTensor open_tensor(const std::string& where, const OpenOptions& options = {});

/// Returns the file of FILE or FILE:NAME. A text that is itself the name of an existing file is
/// taken as that.
std::string file_of(const std::string& where);

}  // namespace binade
