// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npz: a zip archive of .npy members, stored or deflated, each streamed.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "lib/io/torch_file.h"

namespace binade {

/// Returns whether the bytes begin with the signature of a zip archive's first member, or of the
/// end record of an empty archive, and the archive is not torch.save's.
inline bool starts_as_npz(std::span<const std::byte> bytes) {
  const auto starts = [bytes](const char* signature) {
    return bytes.size() >= 4 && std::memcmp(bytes.data(), signature, 4) == 0;
  };
  return (starts("PK\x03\x04") && !starts_as_torch(bytes)) || starts("PK\x05\x06");
}

}  // namespace binade
