// SPDX-License-Identifier: Apache-2.0
//
// Writes arrays into one .npz as numpy.savez does: a zip archive of .npy members, stored as they are.
// The archive appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lib/format/dtype.h"
#include "lib/io/atomic_file.h"

namespace binade {

class NpzWriter {
 public:
  explicit NpzWriter(const std::string& path);

  /// One array with all of its data, little-endian and in the order of storage: numpy.load's [name].
  /// Error where the data do not fill the shape, or the archive would need zip64 (4 GiB).
  void add(const std::string& name, const Dtype& dtype, std::span<const std::uint64_t> shape,
           std::span<const std::byte> data);
  void finish();

 private:
  std::string path_;
  AtomicFile file_;
  std::string directory_;  // the central one, as far as it is known
  std::uint64_t written_ = 0;
  std::uint16_t members_ = 0;
};

}  // namespace binade
