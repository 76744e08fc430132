// SPDX-License-Identifier: Apache-2.0
//
// One tensor as a command line names it: FILE, or FILE:NAME where the file holds several.
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

/// Opens FILE or FILE:NAME. Error where the file holds no tensor of that name, or several and none is named.
OpenedTensor open_tensor(const std::string& where, const OpenOptions& options = {});

/// The file of FILE or FILE:NAME; a file of that very name comes first.
std::string file_of(const std::string& where);

}  // namespace binade
