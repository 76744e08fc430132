// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npz: a zip archive of .npy members, stored or deflated, each streamed.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "lib/io/tensor_file.h"

namespace binade {

/// Returns whether the bytes begin with the signature of a zip archive's first member, or of the
/// end record of an empty archive.
inline bool starts_as_npz(std::span<const std::byte> bytes) {
  const auto starts = [bytes](const char* signature) {
    return bytes.size() >= 4 && std::memcmp(bytes.data(), signature, 4) == 0;
  };
  return starts("PK\x03\x04") || starts("PK\x05\x06");
}

/// Opens the archive; each tensor is named as its member, without ".npy". Throws Error if the
/// archive is malformed, if a member (other than an empty folder) is no .npy or has another size
/// than its header says, if two have the same name, or if this build has no zlib.
std::unique_ptr<TensorFile> open_npz(std::shared_ptr<const InputFile> file,
                                     const OpenOptions& options);

}  // namespace binade
