// SPDX-License-Identifier: Apache-2.0
//
// `open_npz` of a build without zlib.
#include "lib/io/npz.h"
#include "lib/tensor/error.h"

namespace binade {

std::unique_ptr<TensorFile> open_npz(const std::string& path, const OpenOptions&) {
  throw error_in(path, "a .npz file, which this build cannot read",
                 "configure with -Dnpz=enabled and zlib, or save .npy or .safetensors");
}

}  // namespace binade
