// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npz: a zip archive of .npy members, stored or deflated, each streamed.
#pragma once

#include <memory>
#include <string>

#include "lib/io/tensor_file.h"

namespace binade {

std::unique_ptr<TensorFile> open_npz(const std::string& path, const OpenOptions& options);

}  // namespace binade
